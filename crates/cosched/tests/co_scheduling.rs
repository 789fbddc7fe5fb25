//! Networks divided between a CPU and an accelerator as the co-scheduling paper does.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use millstream_board::{Board, Processor};
use millstream_cosched::{co_schedule, published_split};
use millstream_cost::CostTable;
use millstream_graph::{Graph, Operator, OperatorId, OperatorKind};
use millstream_schedule::{Assignment, Replica, Schedule, Stage};
use millstream_test_support::board;

const BOARD: &str = "B2+F:4";

/// An accelerator that runs convolutions, and activations if `has_activations`, three times as fast as two cores do.
fn table(graph: &Graph, board: &Board, has_activations: bool) -> CostTable {
    let runs = |operator: &Operator| {
        matches!(operator.kind, OperatorKind::Convolution(_)) || (has_activations && operator.op_type == "Relu")
    };
    millstream_test_support::table(graph, board, |operator, class| {
        let time = operator.work.macs / 1000 + 100;
        match class.cluster.as_str() {
            "F" => runs(operator).then_some(time),
            _ => Some(3 * time),
        }
    })
}

fn pair() -> Replica {
    let empty = |processor: Processor| Assignment { processor, operators: Vec::new() };
    Replica::new(vec![empty(Processor::accelerator("F")), empty(Processor::new("B", [0, 1]))])
}

#[test]
fn every_convolution_is_divided_by_speed_and_the_rest_is_the_cpus() {
    let board = board(BOARD);
    for name in ["squeezenet", "googlenet", "tiny-darknet"] {
        let model = millstream_zoo::build(name).unwrap();
        let graph = model.graph();
        for has_activations in [false, true] {
            let table = table(graph, &board, has_activations);
            let found = co_schedule(pair(), graph.order(), graph, &table).unwrap();
            assert_eq!(found.divided, found.convolutions, "{name}");
            for split in &found.replica.splits {
                let total = split.total();
                // Three times as fast: three quarters, rounded up.
                let by_speed = published_split(total as u64, 1.0, 3.0);
                assert_eq!(split.shares, [by_speed.accelerator as usize, by_speed.cpu as usize]);
                let after = &split.operators[1..];
                assert!(after.iter().all(|&id| has_activations && graph.operator(id).op_type == "Relu"), "{name}");
            }
            let with_activations = found.replica.splits.iter().filter(|split| split.operators.len() == 2).count();
            assert_eq!(has_activations && name != "tiny-darknet", with_activations > 0, "{name}");
            let accelerated = &found.replica.assignments[0].operators;
            assert!(accelerated.iter().all(|&id| found.replica.split_of(id).is_some()));
            let schedule = Schedule { stages: vec![Stage { replicas: vec![found.replica] }] };
            schedule.validate(graph, &board).unwrap();
            schedule.evaluate(graph, &table).unwrap();
        }
    }
}

#[test]
fn what_one_of_the_two_does_not_run_is_the_others() {
    let board = board(BOARD);
    // Depthwise convolutions are divided by groups, if the accelerator runs them.
    let model = millstream_zoo::build("mobilenet-v1").unwrap();
    let graph = model.graph();
    let whole = table(graph, &board, false);
    let mut partial = CostTable::new(graph.operators().len(), board.processor_classes());
    let depthwise = |id: OperatorId| match &graph.operator(id).kind {
        OperatorKind::Convolution(convolution) => convolution.groups > 1,
        _ => false,
    };
    for processor in partial.class_ids() {
        let is_accelerator = partial.classes()[processor.index()].cluster == "F";
        for id in graph.operator_ids().filter(|&id| !(is_accelerator && depthwise(id))) {
            if let Some(time) = whole.time(processor, id) {
                partial.set_time(processor, id, time);
            }
        }
    }
    let found = co_schedule(pair(), graph.order(), graph, &partial).unwrap();
    let count = graph.operator_ids().filter(|&id| depthwise(id)).count();
    assert!(count > 0 && found.divided == found.convolutions - count, "{} of {}", found.divided, found.convolutions);
    assert!(!found.replica.assignments[0].operators.iter().any(|&id| depthwise(id)));
    assert!(co_schedule(Replica::new(Vec::new()), graph.order(), graph, &whole).is_none());
}
