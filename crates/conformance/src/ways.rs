//! The ways in which a network is run here.

use std::collections::HashMap;
use std::sync::Arc;

use millstream_backend::{Backend, Segment, Tensor, WholeNetwork};
use millstream_board::Processor;
use millstream_graph::{Along, Graph, OperatorId, TileRegion, ValueId};
use millstream_partition::Chain;
use millstream_runtime::{Engine, EngineOptions};
use millstream_schedule::{Assignment, OperatorSplit, Replica, Schedule, Stage};

/// Frames that go through an engine.
const FRAMES: usize = 3;

/// The processor of a core; a machine may have only one.
pub(crate) fn processor(index: u32) -> Processor {
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
    Processor::new("B", [index % cores])
}

/// The whole network as one segment.
pub(crate) fn whole(graph: &Graph, backend: &dyn Backend, frame: &[Tensor]) -> Result<Vec<Tensor>, String> {
    let mut network = WholeNetwork::prepare(graph, backend, &processor(0)).map_err(|error| error.to_string())?;
    network.run(frame).map_err(|error| error.to_string())
}

/// Block after block, each by itself. Returns every value that crossed between them.
pub(crate) fn blocks(
    graph: &Graph,
    chain: &Chain,
    backend: &dyn Backend,
    frame: &[Tensor],
) -> Result<HashMap<ValueId, Tensor>, String> {
    let mut values: HashMap<ValueId, Tensor> = graph.inputs().iter().copied().zip(frame.iter().cloned()).collect();
    for block in chain.blocks() {
        let segment = Segment::new(graph, block.operators.clone());
        let mut prepared = backend.prepare(&segment, &processor(0)).map_err(|error| error.to_string())?;
        let inputs = segment.inputs_from(&values);
        let outputs = prepared.run(&inputs).map_err(|error| error.to_string())?;
        values.extend(segment.boundary.outputs.iter().copied().zip(outputs));
    }
    Ok(values)
}

/// A pipeline of two stages, cut in the middle; `None` if there is nothing to cut.
pub(crate) fn two_stages(chain: &Chain) -> Option<Schedule> {
    let count = chain.blocks().len();
    let stage =
        |index: u32, operators: Vec<OperatorId>| Stage { replicas: vec![Replica::single(processor(index), operators)] };
    let middle = count / 2;
    (count >= 2).then(|| Schedule {
        stages: vec![stage(0, chain.operators(0..middle)), stage(1, chain.operators(middle..count))],
    })
}

/// Two replicas of the whole.
pub(crate) fn replicas(graph: &Graph) -> Schedule {
    let replica = |index: u32| Replica::single(processor(index), graph.order().to_vec());
    Schedule { stages: vec![Stage { replicas: vec![replica(0), replica(1)] }] }
}

/// Every operator that can be divided by channels is, about two to one; the others run on the first processor. `None`
/// if nothing can be divided.
pub(crate) fn divided(graph: &Graph, chain: &Chain) -> Option<Schedule> {
    let mut lists = [Vec::new(), Vec::new()];
    let mut splits = Vec::new();
    let mut placed = vec![false; graph.operators().len()];
    for id in chain.operators(chain.whole()) {
        if placed[id.index()] {
            continue;
        }
        let Some(units) = graph.channel_units(id) else {
            lists[0].push(id);
            continue;
        };
        let mut operators = vec![id];
        operators.extend(graph.channel_followers(id));
        operators.iter().for_each(|operator| placed[operator.index()] = true);
        let pieces = units.channels / units.unit;
        let most = (pieces - pieces.div_ceil(3)).max(1) * units.unit;
        lists.iter_mut().for_each(|list| list.extend(&operators));
        splits.push(OperatorSplit { operators, along: Along::Channels, shares: vec![most, units.channels - most] });
    }
    let assignment =
        |(index, operators): (usize, Vec<OperatorId>)| Assignment { processor: processor(index as u32), operators };
    let assignments = lists.into_iter().enumerate().map(assignment).collect();
    (!splits.is_empty()).then(|| Schedule { stages: vec![Stage { replicas: vec![Replica { assignments, splits }] }] })
}

/// Every block that can be divided by rows is, about two to one; the others run on the first processor. `None` if
/// nothing can be divided.
pub(crate) fn tiled(graph: &Graph, chain: &Chain) -> Option<Schedule> {
    let mut lists = [Vec::new(), Vec::new()];
    let mut splits = Vec::new();
    for block in chain.blocks() {
        let operators = &block.operators;
        lists[0].extend(operators);
        if let Some(region) = TileRegion::new(graph, operators, Along::Rows) {
            lists[1].extend(operators);
            let most = region.rows() - region.rows().div_ceil(3);
            let shares = vec![most, region.rows() - most];
            splits.push(OperatorSplit { operators: operators.clone(), along: Along::Rows, shares });
        }
    }
    let assignment =
        |(index, operators): (usize, Vec<OperatorId>)| Assignment { processor: processor(index as u32), operators };
    let assignments = lists.into_iter().enumerate().map(assignment).collect();
    (!splits.is_empty()).then(|| Schedule { stages: vec![Stage { replicas: vec![Replica { assignments, splits }] }] })
}

/// Streams the frame a few times through a schedule and returns every result.
pub(crate) fn stream(
    graph: &Arc<Graph>,
    schedule: &Schedule,
    backend: &Arc<dyn Backend>,
    frame: &[Tensor],
) -> Result<Vec<Vec<Tensor>>, String> {
    let backends = std::slice::from_ref(backend);
    let engine =
        Engine::new(graph, schedule, backends, &EngineOptions::default()).map_err(|error| error.to_string())?;
    let frames = (0..FRAMES).map(|_| frame.to_vec());
    engine.run(frames).map(|result| result.outcome.map_err(|error| error.to_string())).collect()
}
