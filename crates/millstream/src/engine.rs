use std::sync::Arc;

use millstream_backend::Backend;
use millstream_board::{Board, Processor};
use millstream_runtime::{Engine, EngineOptions};
use millstream_schedule::{Replica, Schedule, Stage};

use crate::{Error, Network};

/// Starts the engine; if the schedule needs accelerators, with the fastest cores ready to go on should one get lost.
pub(crate) fn start(
    network: &Network,
    board: &Board,
    schedule: &Schedule,
    backend: &Arc<dyn Backend>,
    options: &EngineOptions,
) -> Result<Engine, Error> {
    let graph = network.graph();
    let backends = std::slice::from_ref(backend);
    if !schedule.processors().any(Processor::is_accelerator) {
        return Ok(Engine::new(graph, schedule, backends, options)?);
    }
    let cluster = board.clusters().first().ok_or(Error::Incomplete { what: "cluster" })?;
    let cores = cluster.cores.iter().map(|core| core.id).collect();
    let processor = Processor { cluster: cluster.label.clone(), cores };
    let fallback =
        Schedule { stages: vec![Stage { replicas: vec![Replica::single(processor, graph.order().to_vec())] }] };
    Ok(Engine::with_fallback(graph, schedule, &fallback, backends, options)?)
}
