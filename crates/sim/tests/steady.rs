//! Processors that compete for memory, by hand.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use millstream_board::{Processor, ProcessorClass};
use millstream_cost::{CostTable, Nanoseconds, PartCost, PowerOrigin, ProcessorPower};
use millstream_graph::{
    Along, Convolution, DataType, Graph, GraphBuilder, NewOperator, OperatorId, OperatorKind, Shape, Work,
};
use millstream_schedule::{Assignment, OperatorSplit, Replica, Schedule, Stage};
use millstream_sim::SteadyState;
use millstream_test_support::pointwise;

/// One operator that moves 4 + 3996 bytes.
fn graph() -> Graph {
    let mut builder = GraphBuilder::new("one");
    let input = builder.value("input", Some(DataType::F32), Some(Shape::from([1]))).unwrap();
    let output = builder.value("output", Some(DataType::F32), Some(Shape::from([999]))).unwrap();
    builder.input(input);
    let work = Work { input_bytes: 4, output_bytes: 3996, ..Work::default() };
    let operator = NewOperator::new("o", "x", OperatorKind::Opaque).work(work);
    builder.operator(operator.reads([input]).makes([output])).unwrap();
    builder.output(output);
    builder.build().unwrap()
}

/// Replicas on so many cores, which each take a microsecond, draw 3 W at work and 1 W otherwise.
fn ground(cores: u32) -> (Graph, CostTable, Schedule) {
    let graph = graph();
    assert_eq!(graph.operator(graph.order()[0]).work.bytes(), 4000);
    let mut table = CostTable::new(1, [ProcessorClass::new("B", 1)]);
    let processor = table.class_ids().next().unwrap();
    table.set_time(processor, OperatorId::new(0), Nanoseconds(1000));
    let power = ProcessorPower { active_watts: 3.0, idle_watts: 1.0, origin: PowerOrigin::BoardFile };
    table.set_power(processor, power);
    let replica = |core| Replica::single(Processor::new("B", [core]), graph.order().to_vec());
    let schedule = Schedule { stages: vec![Stage { replicas: (0..cores).map(replica).collect() }] };
    (graph, table, schedule)
}

/// A convolution of four channels that is divided between two processors, of which A makes three at once, and moves
/// 4000 bytes.
fn divided() -> (Graph, CostTable, Schedule) {
    let mut builder = GraphBuilder::new("divided");
    let shape = |channels| Some(Shape::from([1, channels, 1, 1]));
    let input = builder.value("input", Some(DataType::F32), shape(1)).unwrap();
    let output = builder.value("output", Some(DataType::F32), shape(4)).unwrap();
    builder.input(input);
    let convolution = Convolution { input_channels: 1, ..pointwise(4) };
    let work = Work { weight_bytes: 4000, ..Work::default() };
    let operator = NewOperator::new("o", "Conv", OperatorKind::Convolution(convolution)).work(work);
    builder.operator(operator.reads([input]).makes([output])).unwrap();
    builder.output(output);
    let graph = builder.build().unwrap();

    let mut table = CostTable::new(1, ["A", "B"].map(|cluster| ProcessorClass::new(cluster, 1)));
    for (processor, (time, wave)) in table.class_ids().zip([(1000, 3), (2000, 1)]) {
        table.set_time(processor, OperatorId::new(0), Nanoseconds(time));
        table.set_part(processor, OperatorId::new(0), PartCost { wave, ..PartCost::default() });
    }
    let operators = graph.order().to_vec();
    let assignments = [("A", 0), ("B", 1)]
        .map(|(cluster, core)| Assignment { processor: Processor::new(cluster, [core]), operators: operators.clone() });
    let splits = vec![OperatorSplit { operators, along: Along::Channels, shares: vec![3, 1] }];
    let replica = Replica { assignments: assignments.to_vec(), splits };
    (graph, table, Schedule { stages: vec![Stage { replicas: vec![replica] }] })
}

/// A moves 3000 bytes in 500 ns, B 1000. With 6.5 bytes a nanosecond, A gets 4.5 until B is done, and the last 750
/// bytes at its own 6. The whole operator would want no more than 4 on the one and 2 on the other.
#[test]
fn parts_of_operators_move_their_shares() {
    let (graph, table, schedule) = divided();
    for (bytes_per_second, period) in [(8.1e9, 500), (6.5e9, 625), (2e9, 2000)] {
        let SteadyState { evaluation, .. } =
            SteadyState::of(&schedule, &graph, &table, Some(bytes_per_second)).unwrap();
        assert!(evaluation.period.0.abs_diff(period) <= 2, "{bytes_per_second}: {}", evaluation.period);
        let least = schedule.evaluate(&graph, &table.within_memory(&graph, bytes_per_second)).unwrap().least_period();
        assert!(least <= evaluation.period, "{least} {}", evaluation.period);
    }
}

/// Each wants 4 bytes a nanosecond.
#[test]
fn replicas_share_what_the_memory_moves() {
    for (cores, gigabytes, period, latency) in [
        (1, None, 1000, 1000),
        (1, Some(4.0), 1000, 1000),
        (1, Some(2.0), 2000, 2000),
        (2, Some(8.0), 500, 1000),
        (2, Some(4.0), 1000, 2000),
        (4, Some(8.0), 500, 2000),
    ] {
        let (graph, table, schedule) = ground(cores);
        let rate = gigabytes.map(|gigabytes: f64| gigabytes * 1e9);
        let SteadyState { evaluation, energy } = SteadyState::of(&schedule, &graph, &table, rate).unwrap();
        assert!(evaluation.period.0.abs_diff(period) <= 1, "{cores} {gigabytes:?}: {}", evaluation.period);
        assert!(evaluation.latency.0.abs_diff(latency) <= 1, "{cores} {gigabytes:?}: {}", evaluation.latency);
        assert!(evaluation.stages[0].replica_times.iter().all(|time| time.0.abs_diff(latency) <= 1));
        // All cores work all the time, for as long as frames take.
        let expected = f64::from(cores) * 3.0 * period as f64 * 1e-9;
        let joules = energy.unwrap().joules_per_frame;
        assert!((joules / expected - 1.0).abs() < 0.01, "{cores} {gigabytes:?}: {joules} {expected}");
    }
}
