//! Dividing operators never makes a stage later, and makes it earlier where there is something to gain.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use millstream_board::{Board, Processor};
use millstream_cosched::{Executed, divide};
use millstream_cost::{BlockedEnd, CostTable, Nanoseconds, PartCost, TransferModel};
use millstream_graph::{Convolution, DataType, Graph, GraphBuilder, NewOperator, Operator, OperatorKind, Shape};
use millstream_schedule::{Assignment, Replica, Schedule, Stage};
use millstream_test_support::connect;
use proptest::prelude::*;

fn board() -> Board {
    millstream_test_support::board("B1+s1:300")
}

/// A nanosecond for a thousand multiply-accumulates, `slowness` on the second core.
fn table(graph: &Graph, slowness: u64, transfer: TransferModel, part: PartCost) -> CostTable {
    let mut table = millstream_test_support::table(graph, &board(), |operator, class| {
        let factor = if class.cluster == "B" { 1 } else { slowness };
        Some((operator.work.macs / 1000 + 10) * factor)
    });
    connect(&mut table, transfer);
    for processor in table.class_ids() {
        graph.operator_ids().for_each(|id| table.set_part(processor, id, part));
    }
    table
}

fn makespan(executed: Executed<'_>) -> Nanoseconds {
    executed.execution.makespan()
}

/// Everything on the first core.
fn undivided(graph: &Graph) -> Replica {
    Replica::new(vec![
        Assignment { processor: Processor::new("B", [0]), operators: graph.order().to_vec() },
        Assignment { processor: Processor::new("s", [1]), operators: Vec::new() },
    ])
}

#[test]
fn a_chain_gains_what_the_slower_core_can_give() {
    let model = millstream_zoo::build("vgg16").unwrap();
    let graph = model.graph();
    let table = table(graph, 3, TransferModel::default(), PartCost::default());
    let finish = |replica: &Replica| replica.execute(graph, &table).ok().map(|execution| execution.makespan());
    let replica = undivided(graph);
    let before = finish(&replica).unwrap();
    let divided = divide(replica, graph, &table, |_| true, makespan);
    let after = finish(&divided).unwrap();
    // Four thirds of the first core's speed, but for rounding to whole channels.
    assert!(after.0 * 100 < before.0 * 77 && after.0 * 4 >= before.0 * 3, "{before} {after}");
    let schedule = Schedule { stages: vec![Stage { replicas: vec![divided] }] };
    schedule.validate(graph, &board()).unwrap();
}

#[test]
fn what_does_not_pay_is_not_divided() {
    let model = millstream_zoo::build("squeezenet").unwrap();
    let graph = model.graph();
    let slow = TransferModel { latency_seconds: 1.0, ..TransferModel::default() };
    let table = table(graph, 3, slow, PartCost::default());
    let finish = |replica: &Replica| replica.execute(graph, &table).ok().map(|execution| execution.makespan());
    let divided = divide(undivided(graph), graph, &table, |_| true, makespan);
    // Only the first operators read what both have from the start, and their results would have to move.
    assert_eq!(finish(&divided), finish(&undivided(graph)));
    let none = divide(undivided(graph), graph, &table, |_| false, makespan);
    assert_eq!(none, undivided(graph));
}

/// `If(x) -> u`, whose type nobody knows, `Conv(x) -> c`, `Add(u, c)`: the convolution takes nearly all the time and
/// stands between the others.
#[test]
fn what_stands_between_inseparable_operators_is_not_divided_there() {
    let mut builder = GraphBuilder::new("untyped");
    let mut value = |name: &str, own| builder.value(name, own, Some(Shape::from([1, 64, 8, 8]))).unwrap();
    let [x, convolved, y] = ["x", "c", "y"].map(|name| value(name, Some(DataType::F32)));
    let untyped = value("u", None);
    builder.input(x);
    let ones = || vec![1, 1];
    let convolution = OperatorKind::Convolution(Convolution {
        input_channels: 64,
        output_channels: 64,
        kernel: ones(),
        strides: ones(),
        dilations: ones(),
        groups: 1,
    });
    let operators = [
        ("If", OperatorKind::Opaque, vec![x], untyped),
        ("Conv", convolution, vec![x], convolved),
        ("Add", OperatorKind::Elementwise, vec![untyped, convolved], y),
    ];
    for (op_type, kind, reads, makes) in operators {
        builder.operator(NewOperator::new(op_type, op_type, kind).reads(reads).makes([makes])).unwrap();
    }
    builder.output(y);
    let graph = builder.build().unwrap();
    assert!(graph.operator_ids().any(|id| graph.channel_units(id).is_some()));

    let time = |operator: &Operator| if operator.op_type == "Conv" { 10_000 } else { 10 };
    let table = millstream_test_support::table(&graph, &board(), |operator, _| Some(time(operator)));
    let mut divided = divide(undivided(&graph), &graph, &table, |_| true, makespan);
    divided.assignments.retain(|assignment| !assignment.operators.is_empty());
    let schedule = Schedule { stages: vec![Stage { replicas: vec![divided] }] };
    assert!(schedule.validate(&graph, &board()).is_ok(), "{schedule:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn dividing_never_hurts_and_stays_valid(
        slowness in 1_u64..6, latency in 0.0..2e-6_f64, per_byte in 0.0..1e-10_f64, fixed in 0.0..0.8_f64, wave in 1_usize..40,
        apart in 0_u64..2000, blocks in prop::sample::select(vec![None, Some(BlockedEnd::Sender), Some(BlockedEnd::Receiver)]),
    ) {
        let model = millstream_zoo::build("squeezenet").unwrap();
        let graph = model.graph();
        let transfer = TransferModel {
            latency_seconds: latency, seconds_per_byte: per_byte, conversion_seconds_per_byte: 0.0, blocks,
        };
        let part = PartCost { fixed_fraction: fixed, wave, apart: Nanoseconds(apart) };
        let table = table(graph, slowness, transfer, part);
        let finish = |replica: &Replica| replica.execute(graph, &table).ok().map(|execution| execution.makespan());
        let before = finish(&undivided(graph)).unwrap();
        let mut divided = divide(undivided(graph), graph, &table, |_| true, makespan);
        prop_assert!(finish(&divided).unwrap() <= before);
        divided.assignments.retain(|assignment| !assignment.operators.is_empty());
        if divided.assignments.len() < 2 {
            prop_assert!(divided.splits.is_empty());
        }
        let schedule = Schedule { stages: vec![Stage { replicas: vec![divided] }] };
        prop_assert!(schedule.validate(graph, &board()).is_ok());
    }
}
