//! Processors that compete for memory, by hand.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use millstream_board::{CoreId, Processor, ProcessorClass};
use millstream_cost::{CostTable, Nanoseconds, PartCost, PowerOrigin, ProcessorPower};
use millstream_graph::{
    Along, Convolution, DataType, Graph, GraphBuilder, NewOperator, OperatorId, OperatorKind, Shape, Work,
};
use millstream_schedule::{Assignment, OperatorSplit, Replica, Schedule, Stage};
use millstream_sim::{Conditions, Disturbance, DisturbanceKind, SimulatedNetwork, SteadyState, Unit, simulate_streams};
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

/// An operator that wants all of the memory, and then one that wants nothing of it, each a microsecond.
fn in_turns() -> (Graph, CostTable) {
    let mut builder = GraphBuilder::new("in turns");
    let mut value = builder.value("input", Some(DataType::F32), Some(Shape::from([1]))).unwrap();
    builder.input(value);
    for (name, weight_bytes) in [("streams", 4000), ("computes", 0)] {
        let made = builder.value(name, Some(DataType::F32), Some(Shape::from([1]))).unwrap();
        let operator = NewOperator::new(name, "x", OperatorKind::Opaque).work(Work { weight_bytes, ..Work::default() });
        builder.operator(operator.reads([value]).makes([made])).unwrap();
        value = made;
    }
    builder.output(value);
    let graph = builder.build().unwrap();
    let mut table = CostTable::new(2, [ProcessorClass::new("B", 1)]);
    let processor = table.class_ids().next().unwrap();
    table.operator_ids().for_each(|operator| table.set_time(processor, operator, Nanoseconds(1000)));
    (graph, table)
}

/// A stage of two replicas on these cores.
fn replicas(graph: &Graph, cores: [u32; 2]) -> Schedule {
    let replica = |core| Replica::single(Processor::new("B", [core]), graph.order().to_vec());
    Schedule { stages: vec![Stage { replicas: cores.map(replica).to_vec() }] }
}

/// In step, replicas would take 3 us for two frames: each waits for the other where both want the memory.
#[test]
fn replicas_are_not_in_step() {
    let (graph, table) = in_turns();
    let schedule = replicas(&graph, [0, 1]);
    let SteadyState { evaluation, .. } = SteadyState::of(&schedule, &graph, &table, Some(4e9)).unwrap();
    assert!(evaluation.period.0.abs_diff(1000) <= 1, "{}", evaluation.period);
    assert!(evaluation.latency.0.abs_diff(2000) <= 1, "{}", evaluation.latency);
}

/// Neither those of a stream that takes turns with another one, nor those of a schedule that takes over.
#[test]
fn replicas_of_no_schedule_are_in_step() {
    let (graph, table) = in_turns();
    let schedules = [replicas(&graph, [0, 1]), replicas(&graph, [2, 3])];
    let conditions = Conditions { memory_bytes_per_second: Some(8e9), ..Conditions::default() };
    let streams = schedules
        .each_ref()
        .map(|own| SimulatedNetwork { takes_turns: true, ..SimulatedNetwork::new(own, &graph, &table, 200) });
    for simulation in simulate_streams(&streams, &conditions).unwrap() {
        assert!((simulation.period_seconds() * 1e9 - 1000.0).abs() < 10.0, "{}", simulation.period_seconds());
    }

    let lost = Disturbance { at: Nanoseconds(50_500), kind: DisturbanceKind::Lost(Unit::Core(CoreId(1))) };
    let conditions =
        Conditions { memory_bytes_per_second: Some(4e9), disturbances: vec![lost], ..Conditions::default() };
    let first = Schedule { stages: vec![Stage { replicas: schedules[0].stages[0].replicas[1..].to_vec() }] };
    let stream =
        SimulatedNetwork { fallback: Some(&schedules[1]), ..SimulatedNetwork::new(&first, &graph, &table, 200) };
    let simulation = simulate_streams(&[stream], &conditions).unwrap().remove(0);
    assert!(simulation.fell_back.is_some());
    let ends: Vec<u64> = simulation.frames.iter().map(|frame| frame.end.0).collect();
    assert_eq!((ends[199] - ends[99]) / 100, 1000);
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
        // Means, and the first frames meet fewer others.
        assert!(evaluation.stages[0].replica_times.iter().all(|time| time.0.abs_diff(latency) <= latency / 100));
        // All cores work all the time, for as long as frames take.
        let expected = f64::from(cores) * 3.0 * period as f64 * 1e-9;
        let joules = energy.unwrap().joules_per_frame;
        assert!((joules / expected - 1.0).abs() < 0.01, "{cores} {gigabytes:?}: {joules} {expected}");
    }
}
