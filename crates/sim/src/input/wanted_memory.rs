//! What processors want of the memory's bandwidth.

use millstream_cost::{CostTable, Nanoseconds};
use millstream_graph::Graph;
use millstream_schedule::{Assignment, Schedule};

use crate::input::conditions::Conditions;
use crate::input::simulated_network::SimulatedNetwork;

/// Whether processors may slow each other down because together they want more than the memory moves. Not where all
/// of them want no more even if each runs the operator that wants the most.
pub(crate) fn may_compete_for_memory(networks: &[SimulatedNetwork<'_>], conditions: &Conditions) -> bool {
    let Some(rate) = conditions.memory_bytes_per_second else { return false };
    let of_network = |network: &SimulatedNetwork<'_>| {
        let schedules = std::iter::once(network.schedule).chain(network.fallback);
        let wanted = schedules.map(|schedule| most_wanted(schedule, network.graph, network.table));
        wanted.sum::<Option<f64>>()
    };
    networks.iter().map(of_network).sum::<Option<f64>>().is_none_or(|wanted| wanted > rate)
}

/// Bytes a second that all processors together want at most: each while it runs the operator that wants the most.
/// `None` if it is not easily known, because parts of operators may want more than the whole does.
fn most_wanted(schedule: &Schedule, graph: &Graph, table: &CostTable) -> Option<f64> {
    let replicas = || schedule.stages.iter().flat_map(|stage| &stage.replicas);
    if replicas().any(|replica| !replica.splits.is_empty()) {
        return None;
    }
    let of_assignment = |assignment: &Assignment| {
        let processor = table.find(&assignment.processor.class())?;
        let wanted = assignment.operators.iter().filter_map(|&id| {
            let time = table.time(processor, id).filter(|&time| time > Nanoseconds::ZERO)?;
            Some(graph.operator(id).work.bytes() as f64 / time.seconds())
        });
        Some(wanted.fold(0.0, f64::max))
    };
    Some(replicas().flat_map(|replica| &replica.assignments).filter_map(of_assignment).sum())
}
