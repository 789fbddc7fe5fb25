//! Stages whose processors divide an operator by its channels, on cases worked by hand.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use millstream_board::Board;
use millstream_cost::{CostTable, Nanoseconds, TransferModel};
use millstream_graph::{DataType, Graph, GraphBuilder, NewOperator, OperatorId, OperatorKind, Shape, Work};
use millstream_partition::Chain;
use millstream_pipeline::{Plan, Problem, pareto_front, teams_of};
use millstream_test_support::{board, pointwise};

fn uneven() -> Board {
    board("B1+s1:341")
}

fn convolution(name: &str) -> NewOperator {
    let kind = OperatorKind::Convolution(pointwise(8));
    NewOperator::new(name, "Conv", kind).work(Work { macs: 64, ..Work::default() })
}

/// A convolution of 8 channels of one element each, and something that needs all of them.
fn graph() -> Graph {
    let mut builder = GraphBuilder::new("small");
    let [input, made, result] = ["input", "made", "result"]
        .map(|name| builder.value(name, Some(DataType::F32), Some(Shape::from([1, 8, 1, 1]))).unwrap());
    builder.input(input);
    builder.operator(convolution("conv").reads([input]).makes([made])).unwrap();
    builder.operator(NewOperator::new("rest", "x", OperatorKind::Opaque).reads([made]).makes([result])).unwrap();
    builder.output(result);
    builder.build().unwrap()
}

/// A convolution as that one which reads what the network reads, as an operator before it does, and something that
/// needs both.
fn graph_with_two_readers() -> Graph {
    let mut builder = GraphBuilder::new("branched");
    let [input, short, made, result] = ["input", "short", "made", "result"]
        .map(|name| builder.value(name, Some(DataType::F32), Some(Shape::from([1, 8, 1, 1]))).unwrap());
    builder.input(input);
    builder.operator(NewOperator::new("before", "x", OperatorKind::Opaque).reads([input]).makes([short])).unwrap();
    builder.operator(convolution("conv").reads([input]).makes([made])).unwrap();
    let join = NewOperator::new("join", "x", OperatorKind::Opaque);
    builder.operator(join.reads([short, made]).makes([result])).unwrap();
    builder.output(result);
    builder.build().unwrap()
}

/// B makes a channel in 100 ns and s in 300; the rest takes 100 and 300. A channel takes so many ns from one to the
/// other.
fn table(graph: &Graph, per_channel: u64) -> CostTable {
    let mut table = CostTable::new(graph.operators().len(), uneven().processor_classes());
    let link = TransferModel { seconds_per_byte: per_channel as f64 * 0.25e-9, ..TransferModel::default() };
    for (processor, slowness) in table.class_ids().zip([1, 3]) {
        table.set_time(processor, OperatorId::new(0), Nanoseconds(800 * slowness));
        table.set_time(processor, OperatorId::new(1), Nanoseconds(100 * slowness));
        table.class_ids().for_each(|to| table.set_transfer(processor, to, link));
    }
    table
}

/// The plan with the shortest latency, as its latency, and how the team divides the convolution between B and s.
fn shortest(per_channel: u64) -> (Nanoseconds, Option<Vec<usize>>) {
    let (graph, board) = (graph(), uneven());
    let (chain, table) = (Chain::of(&graph), table(&graph, per_channel));
    let problem = Problem::with_teams(&graph, &chain, &board, &table, &teams_of(&board)).unwrap();
    let front: Vec<Plan> = pareto_front(&problem).unwrap();
    let plan = front.iter().min_by_key(|plan| plan.latency).unwrap();
    let schedule = problem.schedule(plan);
    schedule.validate(&graph, &board).unwrap();
    let evaluation = schedule.evaluate(&graph, &table).unwrap();
    assert_eq!((evaluation.period, evaluation.latency), (plan.period, plan.latency));
    assert_eq!(schedule.stages.len(), 1, "{schedule}");
    let replica = &schedule.stages[0].replicas[0];
    (plan.latency, replica.splits.first().map(|split| split.shares.clone()))
}

/// Six channels on B and two on s take 600 each, the rest 100 on B. As a whole, the convolution would take 800.
#[test]
fn a_team_divides_what_one_processor_alone_would_take_longer_for() {
    assert_eq!(shortest(0), (Nanoseconds(600 + 100), Some(vec![6, 2])));
    assert_eq!(shortest(10), (Nanoseconds(600 + 2 * 10 + 100), Some(vec![6, 2])));
}

/// Two channels of s are on B after 600 + 2 * 60, later than seven of its own are made.
#[test]
fn a_team_gives_less_to_where_results_come_from_late() {
    assert_eq!(shortest(60), (Nanoseconds(700 + 100), Some(vec![7, 1])));
}

/// A single channel of s would be on B after 300 + 500, when B has made all eight.
#[test]
fn a_team_that_gains_nothing_is_none() {
    assert_eq!(shortest(500), (Nanoseconds(800 + 100), None));
}

/// B may make its part of the convolution, which reads the network's input, before the operator that the join waits
/// for: neither is lost.
#[test]
fn a_part_may_begin_before_what_another_subgraph_made() {
    let (graph, board) = (graph_with_two_readers(), uneven());
    let mut table = CostTable::new(3, board.processor_classes());
    for (times, processor) in [[300, 1200, 100], [900, 800, 5000]].into_iter().zip(table.class_ids()) {
        for (operator, time) in table.operator_ids().zip(times) {
            table.set_time(processor, operator, Nanoseconds(time));
        }
    }
    let chain = Chain::of(&graph);
    let problem = Problem::with_teams(&graph, &chain, &board, &table, &teams_of(&board)).unwrap();
    let front = pareto_front(&problem).unwrap();
    for plan in &front {
        let schedule = problem.schedule(plan);
        schedule.validate(&graph, &board).unwrap();
        let evaluation = schedule.evaluate(&graph, &table).unwrap();
        assert_eq!((evaluation.period, evaluation.latency), (plan.period, plan.latency), "{schedule}");
    }
    let has_splits = |plan: &Plan| problem.schedule(plan).stages[0].replicas[0].splits.len() == 1;
    assert!(front.iter().any(has_splits));
}
