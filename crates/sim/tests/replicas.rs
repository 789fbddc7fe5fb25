//! Pipelines of replicas that take unlike times pass frames as often as evaluation says, with as many frames in flight
//! as the engine has.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use millstream_board::{Processor, ProcessorClass};
use millstream_cost::{CostTable, Nanoseconds};
use millstream_graph::{Graph, OperatorId};
use millstream_schedule::{Replica, Schedule, Stage};
use millstream_sim::{SimulationSettings, simulate};
use millstream_test_support::chain;
use proptest::prelude::*;

/// A stage for each operator, with replicas of these times, each on a cluster of its own.
fn pipeline(stages: &[Vec<u64>]) -> (Graph, CostTable, Schedule) {
    let graph = chain(stages.len());
    let clusters: usize = stages.iter().map(Vec::len).sum();
    let classes = (0..clusters).map(|cluster| ProcessorClass::new(format!("C{cluster}"), 1));
    let mut table = CostTable::new(stages.len(), classes);
    let mut processors = table.class_ids().collect::<Vec<_>>().into_iter().enumerate();
    let of_stage = |(&operator, times): (&OperatorId, &Vec<u64>)| {
        let replica = |&time: &u64| {
            let (cluster, processor) = processors.next().unwrap();
            table.set_time(processor, operator, Nanoseconds(time));
            let processor = Processor::new(format!("C{cluster}"), [cluster as u32]);
            Replica::single(processor, vec![operator])
        };
        Stage { replicas: times.iter().map(replica).collect() }
    };
    let stages = graph.order().iter().zip(stages).map(of_stage).collect();
    (graph, table, Schedule { stages })
}

/// Simulated over evaluated period.
fn ratio(stages: &[Vec<u64>], frames_in_flight: Option<usize>) -> f64 {
    let (graph, table, schedule) = pipeline(stages);
    let settings = SimulationSettings { frames: 3000, frames_in_flight, ..SimulationSettings::default() };
    let simulated = simulate(&schedule, &graph, &table, &settings).unwrap().period_seconds();
    simulated / schedule.evaluate(&graph, &table).unwrap().period.seconds()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn replicas_pass_frames_as_evaluation_says(stages in prop::collection::vec(prop::collection::vec(200_u64..5000, 1..5), 1..5)) {
        let ratio = ratio(&stages, None);
        prop_assert!((ratio - 1.0).abs() < 0.01, "{ratio}");
    }
}

/// One frame for each replica and one for each hand-over are too few where replicas come to the next stage at uneven
/// times.
#[test]
fn unlike_replicas_need_more_frames_between_them() {
    let stages = [vec![4726, 6150, 6150, 6150], vec![2117, 2117]];
    assert!((1.05..1.10).contains(&ratio(&stages, Some(7))), "{}", ratio(&stages, Some(7)));
    assert!((ratio(&stages, None) - 1.0).abs() < 0.002, "{}", ratio(&stages, None));
}
