//! What frames take between hosts, worked out by hand.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use millstream_board::{Processor, TransferPrecision};
use millstream_cost::{CostTable, FrameCost, HandOver, HostCrossing, LaneId, Nanoseconds};
use millstream_schedule::{Evaluation, Replica, Schedule, Stage};
use millstream_test_support::{board, chain_of, uniform_table};

/// A way on which 100 bytes are sent in 200 ns, are on the only channel for 100, arrive 1000 later, and are received
/// in 300.
fn way(from: &str, to: &str) -> HostCrossing {
    HostCrossing {
        from: from.to_owned(),
        to: to.to_owned(),
        link: "a-b".to_owned(),
        lane: LaneId::new(0),
        latency_seconds: 1e-6,
        seconds_per_byte: 1e-9,
        sending: HandOver { seconds: 50e-9, seconds_per_byte: 1.5e-9 },
        receiving: HandOver { seconds: 0.0, seconds_per_byte: 3e-9 },
        precision: TransferPrecision::F32,
    }
}

/// Three operators of 10 ns each, on one host, the other, and the first again.
#[test]
fn both_ends_pay_and_a_channel_carries_both_ways() {
    let graph = chain_of(3, 25);
    let own = uniform_table(&graph, &board("B1"), [10]);
    let table = CostTable::of_hosts(&[("a", &own), ("b", &own)], vec![way("a", "b"), way("b", "a")]);

    let places = [("a/B", 0), ("b/B", 1), ("a/B", 2)];
    let stage = |(&(cluster, core), &operator)| Stage {
        replicas: vec![Replica::single(Processor::new(cluster, [core]), vec![operator])],
    };
    let schedule = Schedule { stages: places.iter().zip(graph.order()).map(stage).collect() };
    let evaluation = schedule.evaluate(&graph, &table).unwrap();
    let times = |evaluation: &Evaluation| -> Vec<u64> {
        evaluation.stages.iter().map(|stage| stage.replica_times[0].0).collect()
    };
    assert_eq!(times(&evaluation), [10 + 200, 300 + 10 + 200, 300 + 10]);
    assert_eq!(evaluation.latency, Nanoseconds(210 + 1100 + 510 + 1100 + 310));
    let [link] = &evaluation.host_links[..] else { panic!("{:?}", evaluation.host_links) };
    assert_eq!((link.link.as_str(), link.bytes, link.period), ("a-b", 200, Nanoseconds(200)));
    assert_eq!(evaluation.period, Nanoseconds(510));

    // From outside come 100 bytes of a frame, and as many of results go there.
    let cost = |host: &str, seconds_per_byte| FrameCost {
        host: host.to_owned(),
        cost: HandOver { seconds: 100e-9, seconds_per_byte },
    };
    let table = table.with_frame_costs(vec![cost("b", 7e-9), cost("a", 4e-9)]);
    let with_frames = schedule.evaluate(&graph, &table).unwrap();
    assert_eq!(times(&with_frames), [500 + 210, 510, 310 + 500]);
    assert_eq!(with_frames.latency, evaluation.latency + Nanoseconds(1000));
}
