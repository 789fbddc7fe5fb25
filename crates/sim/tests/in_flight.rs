//! How many frames are in flight, also after something was lost.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use millstream_board::{CoreId, Processor};
use millstream_cost::{CostTable, Nanoseconds};
use millstream_graph::Graph;
use millstream_schedule::{Replica, Schedule, Stage};
use millstream_sim::{Conditions, Disturbance, DisturbanceKind, SimulatedNetwork, Simulation, Unit, simulate_streams};
use millstream_test_support::{board, chain, uniform_table};

/// An operator takes 100 ns on B, and 300 on s.
fn ground() -> (Graph, CostTable) {
    let graph = chain(2);
    let table = uniform_table(&graph, &board("B1+s1"), [100, 300]);
    (graph, table)
}

/// The first operator on some cores and the second one on others, each named with its cluster.
fn schedule(graph: &Graph, stages: [&[(&str, u32)]; 2]) -> Schedule {
    let stage = |(&operator, cores): (_, &[(&str, u32)])| Stage {
        replicas: cores
            .iter()
            .map(|&(cluster, core)| Replica::single(Processor::new(cluster, [core]), vec![operator]))
            .collect(),
    };
    Schedule { stages: graph.order().iter().zip(stages).map(stage).collect() }
}

fn with_core_lost(stream: SimulatedNetwork<'_>, core: u32, at: u64) -> Simulation {
    let kind = DisturbanceKind::Lost(Unit::Core(CoreId(core)));
    let disturbances = vec![Disturbance { at: Nanoseconds(at), kind }];
    let conditions = Conditions { disturbances, keeps_spans: true, ..Conditions::default() };
    simulate_streams(&[stream], &conditions).unwrap().pop().unwrap()
}

/// The most frames at once that had begun after a moment and were not through.
fn most_at_once(simulation: &Simulation, after: u64) -> usize {
    let begun = |frame: usize| {
        let spans = simulation.spans.iter().filter(|span| span.frame == frame && span.start.0 >= after);
        spans.map(|span| span.start.0).min()
    };
    let times: Vec<(u64, u64)> = simulation
        .frames
        .iter()
        .enumerate()
        .filter(|(_, times)| times.end.0 > after)
        .filter_map(|(frame, times)| Some((begun(frame)?, times.end.0)))
        .collect();
    let at = |moment: u64| times.iter().filter(|(begun, end)| *begun <= moment && moment < *end).count();
    times.iter().map(|&(begun, _)| at(begun)).max().unwrap_or_default()
}

/// Seven frames are in flight behind three replicas. Those that start anew on two cores are three at once, as on any
/// two stages of one replica each, and go in their order.
#[test]
fn a_schedule_to_fall_back_on_has_as_many_frames_in_flight_as_it_has_by_itself() {
    let (graph, table) = ground();
    let first = schedule(&graph, [&[("B", 0), ("B", 1), ("B", 2)], &[("s", 3)]]);
    let other = schedule(&graph, [&[("B", 0)], &[("s", 4)]]);
    assert_eq!((first.frames_in_flight(), other.frames_in_flight()), (7, 3));
    let stream = SimulatedNetwork { fallback: Some(&other), ..SimulatedNetwork::new(&first, &graph, &table, 60) };
    let simulation = with_core_lost(stream, 3, 4_050);
    assert_eq!((simulation.unfinished, simulation.fell_back), (0, Some(Nanoseconds(4_050))));
    assert_eq!(most_at_once(&simulation, 0), 7);
    assert_eq!(most_at_once(&simulation, 4_050), 3);
    assert!(simulation.frames.windows(2).all(|pair| pair[0].end < pair[1].end), "in their order");

    let fewer = with_core_lost(SimulatedNetwork { frames_in_flight: Some(2), ..stream }, 3, 4_050);
    assert_eq!((most_at_once(&fewer, 0), most_at_once(&fewer, 4_050)), (2, 2));
}

/// The frame of a lost replica is before those that wait for one.
#[test]
fn a_lost_frame_is_next() {
    let (graph, table) = ground();
    let schedule = schedule(&graph, [&[("B", 0)], &[("s", 1), ("s", 2)]]);
    let stream = SimulatedNetwork { frames_in_flight: Some(8), ..SimulatedNetwork::new(&schedule, &graph, &table, 30) };
    // Frame 3 came to core 2 at 500 and frame 4 to core 1 at 700; 5, 6 and more wait.
    let simulation = with_core_lost(stream, 2, 750);
    let ends: Vec<u64> = simulation.frames.iter().map(|frame| frame.end.0).collect();
    assert_eq!(ends[..6], [400, 500, 700, 1300, 1000, 1600]);
}
