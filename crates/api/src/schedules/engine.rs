//! Schedules set to work: engines that run them.

use std::sync::Arc;

use millstream_backend::Backend;
use millstream_board::{Board, Processor};
use millstream_runtime::{Engine, EngineOptions};
use millstream_schedule::{Replica, Schedule, Stage};

use crate::backends::first_core::with_able_engine;
use crate::error::Error;
use crate::network::Network;

/// Starts an engine whose processors take over from each other, as all schedules are tried and run.
pub(crate) fn new(
    network: &Network,
    schedule: &Schedule,
    backend: &Arc<dyn Backend>,
    options: EngineOptions,
) -> Result<Engine, Error> {
    let options = options.with_taking_over(true);
    Ok(Engine::new(network.graph(), schedule, std::slice::from_ref(backend), &options)?)
}

/// The same; if the schedule needs accelerators, with the fastest cores ready to go on should one get lost.
pub(crate) fn with_fallback(
    network: &Network,
    board: &Board,
    schedule: &Schedule,
    backend: &Arc<dyn Backend>,
    options: EngineOptions,
) -> Result<Engine, Error> {
    schedule.processors().try_for_each(|processor| board.check(processor))?;
    if !schedule.processors().any(Processor::is_accelerator) {
        return new(network, schedule, backend, options);
    }
    let graph = network.graph();
    let cluster = board.clusters().first().ok_or(Error::Incomplete { what: "cluster" })?;
    let processor = cluster.processor(cluster.cores.iter().map(|core| core.id));
    let processor = with_able_engine(cluster, processor, &**backend, graph)?;
    let fallback =
        Schedule { stages: vec![Stage { replicas: vec![Replica::single(processor, graph.order().to_vec())] }] };
    let options = options.with_taking_over(true);
    Ok(Engine::with_fallback(graph, schedule, &fallback, std::slice::from_ref(backend), &options)?)
}
