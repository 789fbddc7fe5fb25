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

#[cfg(test)]
mod tests {
    use millstream_board::Processor;
    use millstream_schedule::{Replica, Stage};
    use millstream_test_support::{board, chain, table};

    use super::*;

    /// Operators that move the same and take 1, 2, 3 us and so on, but for one that takes nothing, of which nobody
    /// knows what it wants.
    #[test]
    fn processors_want_what_their_hungriest_operators_do() {
        let graph = chain(6);
        let table = table(&graph, &board("B2"), |operator, _| {
            let index = graph.operator_ids().find(|&id| std::ptr::eq(graph.operator(id), operator))?.index() as u64;
            Some(if index == 4 { 0 } else { 1000 * (index + 1) })
        });
        let (first, second): (Vec<_>, Vec<_>) = graph.operator_ids().partition(|id| id.index() < 3);
        let stage =
            |core: u32, operators| Stage { replicas: vec![Replica::single(Processor::new("B", [core]), operators)] };
        let schedule = Schedule { stages: vec![stage(0, first), stage(1, second)] };
        let wants = |id: usize, microseconds: f64| {
            let operators: Vec<_> = graph.operator_ids().collect();
            graph.operator(operators[id]).work.bytes() as f64 / (microseconds * 1e-6)
        };
        let wanted = most_wanted(&schedule, &graph, &table).unwrap_or_default();
        let expected = wants(0, 1.0).max(wants(1, 2.0)).max(wants(2, 3.0)) + wants(3, 4.0).max(wants(5, 6.0));
        assert!((wanted / expected - 1.0).abs() < 1e-9 && wanted > 0.0, "{wanted} {expected}");

        let competes = |bytes_per_second: Option<f64>| {
            let conditions = Conditions { memory_bytes_per_second: bytes_per_second, ..Conditions::default() };
            may_compete_for_memory(&[SimulatedNetwork::new(&schedule, &graph, &table, 10)], &conditions)
        };
        assert_eq!([None, Some(1.01 * wanted), Some(0.99 * wanted)].map(competes), [false, false, true]);
    }
}
