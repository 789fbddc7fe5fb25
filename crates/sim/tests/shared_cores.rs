//! Networks whose replicas need the same cores get them one after the other.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use millstream_board::{Processor, ProcessorClass};
use millstream_cost::{CostTable, Nanoseconds};
use millstream_graph::Graph;
use millstream_schedule::{Replica, Schedule, Stage};
use millstream_sim::{Conditions, SimulatedNetwork, simulate_streams};
use millstream_test_support::chain;

/// A network of two operators of 50 ns with a replica on each core, and another one of a single operator that needs
/// both cores for 30 ns. Who has waited longest is next: the one on single cores from 0 to 50 ns, the other one to 80,
/// and so on. By themselves the two cores are never free at the same moment.
#[test]
fn who_needs_several_cores_gets_them_in_its_turn() {
    let cores = [1, 2].map(|cores| ProcessorClass::new("B", cores));
    let ground = |operators: usize, class: &ProcessorClass, time: u64| {
        let mut table = CostTable::new(operators, cores.clone());
        let processor = table.find(class).unwrap();
        table.operator_ids().for_each(|operator| table.set_time(processor, operator, Nanoseconds(time)));
        (chain(operators), table)
    };
    let (narrow, wide) = (ground(2, &cores[0], 50), ground(1, &cores[1], 30));
    let on = |graph: &Graph, replicas: &[&[u32]]| {
        let replica =
            |cores: &&[u32]| Replica::single(Processor::new("B", cores.iter().copied()), graph.order().to_vec());
        Schedule { stages: vec![Stage { replicas: replicas.iter().map(replica).collect() }] }
    };
    let schedules = [on(&narrow.0, &[&[0], &[1]]), on(&wide.0, &[&[0, 1]])];
    let streams = [
        SimulatedNetwork::new(&schedules[0], &narrow.0, &narrow.1, 20),
        SimulatedNetwork::new(&schedules[1], &wide.0, &wide.1, 10),
    ];

    let both = simulate_streams(&streams, &Conditions::default()).unwrap();
    let ends = |place: usize| both[place].frames.iter().map(|frame| frame.end.0).collect::<Vec<u64>>();
    assert_eq!(ends(1), (1..=10).map(|turn| 80 * turn).collect::<Vec<u64>>());
    assert_eq!(ends(0)[..10], (0..10).map(|frame| 130 + 160 * (frame / 2)).collect::<Vec<u64>>());
}
