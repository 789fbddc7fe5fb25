//! Operators that several processors share: what is valid, and what it takes.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use millstream_board::{Board, Processor};
use millstream_cost::{BlockedEnd, CostTable, Nanoseconds, PartCost, TransferModel};
use millstream_graph::{Along, Convolution, DataType, Graph, GraphBuilder, NewOperator, OperatorKind, Shape};
use millstream_schedule::execution::{Execution, TaskId};
use millstream_schedule::{
    Assignment, OperatorSplit, Replica, ReplicaTasks, Schedule, ScheduleDocument, ScheduleError, Stage,
};
use millstream_test_support::{find_operators, pointwise, uniform_table};

/// `x -> a (8 channels) -> relu -> b (2 groups of 4 channels) -> sum(relu, b)`, all of 8 channels of one pixel.
fn graph() -> Graph {
    let mut builder = GraphBuilder::new("small");
    let value = |builder: &mut GraphBuilder, name: &str| {
        builder.value(name, Some(DataType::F32), Some(Shape::from([1, 8, 1, 1]))).unwrap()
    };
    let [x, a, relu, b, sum] = ["x", "a", "relu", "b", "sum"].map(|name| value(&mut builder, name));
    builder.input(x);
    let convolution = |groups| OperatorKind::Convolution(Convolution { groups, ..pointwise(8) });
    builder.operator(NewOperator::new("a", "Conv", convolution(1)).reads([x]).makes([a])).unwrap();
    builder.operator(NewOperator::new("relu", "Relu", OperatorKind::Activation).reads([a]).makes([relu])).unwrap();
    builder.operator(NewOperator::new("b", "Conv", convolution(2)).reads([relu]).makes([b])).unwrap();
    builder.operator(NewOperator::new("sum", "Add", OperatorKind::Elementwise).reads([relu, b]).makes([sum])).unwrap();
    builder.output(sum);
    builder.build().unwrap()
}

fn board() -> Board {
    millstream_test_support::board("B2+G")
}

/// Every operator takes 1000 ns on a core and 400 on the GPU; moving to the GPU takes 100 ns and 1 per byte, back
/// nothing.
fn table(graph: &Graph) -> CostTable {
    let mut table = uniform_table(graph, &board(), [1000, 400]);
    let [core, gpu] = ["B1", "G1"].map(|name| {
        table.class_ids().find(|processor| table.classes()[processor.index()].to_string() == name).unwrap()
    });
    let model = TransferModel { latency_seconds: 1e-7, seconds_per_byte: 1e-9, ..TransferModel::default() };
    table.set_transfer(core, gpu, model);
    for id in graph.operator_ids() {
        let part = PartCost { fixed_fraction: 0.5, wave: 4, apart: Nanoseconds(50) };
        table.set_part(gpu, id, part);
    }
    table
}

/// A core and the GPU share `split`, and the core does the rest.
fn shared(graph: &Graph, core: &[&str], gpu: &[&str], split: &[&str], channels: [usize; 2]) -> Schedule {
    let assignment = |processor, names: &[&str]| Assignment { processor, operators: find_operators(graph, names) };
    let replica = Replica {
        assignments: vec![assignment(Processor::new("B", [0]), core), assignment(Processor::accelerator("G"), gpu)],
        splits: vec![OperatorSplit {
            operators: find_operators(graph, split),
            along: Along::Channels,
            shares: channels.to_vec(),
        }],
    };
    Schedule { stages: vec![Stage { replicas: vec![replica] }] }
}

#[test]
fn parts_take_their_shares_and_followers_stay_with_them() {
    let graph = graph();
    let table = table(&graph);
    let schedule = shared(&graph, &["a", "relu", "b", "sum"], &["a", "relu"], &["a", "relu"], [6, 2]);
    schedule.validate(&graph, &board()).unwrap();
    assert_eq!(schedule.to_string(), "B1+G1");
    // The core makes 6 of 8 channels of both: 750 + 750. The GPU's 2 are one wave of two: 50 + 400 * (0.5 + 0.5 / 2),
    // and 300 more for the activation, which needs nothing of the core's. Then b needs both parts.
    let evaluation = schedule.evaluate(&graph, &table).unwrap();
    assert_eq!(evaluation.latency, Nanoseconds(1500 + 1000 + 1000));
    let replica = &schedule.stages[0].replicas[0];
    assert_eq!(replica.operators().count(), 4, "an operator that is shared counts once");
    // With all of it but two channels on the GPU, the core waits: 50 + 400 + 400 against 500.
    let schedule = shared(&graph, &["a", "relu", "b", "sum"], &["a", "relu"], &["a", "relu"], [2, 6]);
    assert_eq!(schedule.evaluate(&graph, &table).unwrap().latency, Nanoseconds(850 + 2000));
    // A part that reads what the core made waits for the transfer of 32 bytes: done after 132 + 350, before the core is
    // after 500.
    let schedule = shared(&graph, &["a", "relu", "b", "sum"], &["b"], &["b"], [4, 4]);
    schedule.validate(&graph, &board()).unwrap();
    assert_eq!(schedule.evaluate(&graph, &table).unwrap().latency, Nanoseconds(2000 + 500 + 1000));
}

#[test]
fn transfers_of_parts_are_as_large_as_the_parts() {
    let graph = graph();
    let mut table = table(&graph);
    let [core, gpu] = [0, 2].map(|index| table.class_ids().nth(index).unwrap());
    let model =
        TransferModel { seconds_per_byte: 1e-8, blocks: Some(BlockedEnd::Receiver), ..TransferModel::default() };
    table.set_transfer(gpu, core, model);
    let schedule = shared(&graph, &["a", "relu", "b", "sum"], &["a", "relu"], &["a", "relu"], [4, 4]);
    // The core fetches 16 of 32 bytes, once for both readers.
    assert_eq!(schedule.evaluate(&graph, &table).unwrap().latency, Nanoseconds(1000 + 160 + 2000));
}

/// Transfers block receivers, so that the sizes of parts count as well as their times.
#[test]
fn tasks_with_other_shares_are_those_of_a_new_replica() {
    let graph = graph();
    let mut table = table(&graph);
    let pairs: Vec<_> = table.class_ids().flat_map(|from| table.class_ids().map(move |to| (from, to))).collect();
    let model =
        TransferModel { seconds_per_byte: 1e-8, blocks: Some(BlockedEnd::Receiver), ..TransferModel::default() };
    pairs.into_iter().for_each(|(from, to)| table.set_transfer(from, to, model));
    let with = |channels| shared(&graph, &["a", "relu", "b", "sum"], &["a", "relu"], &["a", "relu"], channels);

    let mut schedule = with([6, 2]);
    let replica = &mut schedule.stages[0].replicas[0];
    let mut tasks = ReplicaTasks::new(replica, &graph, &table).unwrap();
    let order = tasks.run_order(&graph).unwrap();
    let mut execution = Execution::new(&tasks);
    for channels in [[2, 6], [1, 7], [7, 1], [6, 2]] {
        replica.splits[0].shares = channels.to_vec();
        tasks.reshare(replica, 0, &graph).unwrap();
        tasks.execute_again(&order, &mut execution);

        let anew = with(channels);
        let anew = ReplicaTasks::new(&anew.stages[0].replicas[0], &graph, &table).unwrap();
        assert_eq!(tasks.tasks(), anew.tasks());
        let expected = anew.execute(&graph).unwrap();
        let all = || TaskId::all(anew.tasks().len());
        assert!(all().all(|task| execution.span(task) == expected.span(task)), "{channels:?}");
        assert!(all().all(|task| execution.transfers(task) == expected.transfers(task)), "{channels:?}");
    }
}

#[test]
fn a_schedule_with_splits_survives_its_document() {
    let graph = graph();
    let schedule = shared(&graph, &["a", "relu", "b", "sum"], &["a", "relu"], &["a", "relu"], [6, 2]);
    let stages = schedule.to_stages(&graph);
    assert_eq!(stages[0].replicas[0].splits[0].operators, ["a", "relu"]);
    let text = serde_json::json!({
        "format": "millstream-schedule", "version": 1,
        "provenance": {"tool_version": "0", "created": "now"},
        "model": {"name": "small", "source": "none", "digest": "d", "batch": 1},
        "board": {"name": board().name(), "fingerprint": board().fingerprint()},
        "algorithm": "none", "objective": "latency", "configuration": "B1+G1",
        "predicted": {"period_seconds": 1.0, "latency_seconds": 1.0, "lower_bound_period_seconds": 1.0, "replica_seconds": [[1.0]]},
        "stages": stages,
    });
    let document = ScheduleDocument::from_json(&text.to_string()).unwrap();
    assert_eq!(document.resolve(&graph, "d", &board()).unwrap(), schedule);
}

#[test]
fn splits_that_can_not_be_executed_say_why() {
    let graph = graph();
    let all = ["a", "relu", "b", "sum"];
    let cases: [(Schedule, &str); 9] = [
        (shared(&graph, &all, &["a"], &["a"], [0, 8]), "fewer than two processors"),
        (shared(&graph, &all, &["a"], &["a"], [8, 8]), "add up to its 8 output channels"),
        (shared(&graph, &all, &["b"], &["b"], [3, 5]), "cuts through a group"),
        (shared(&graph, &all, &["sum"], &["sum"], [4, 4]), "can't be made apart"),
        (shared(&graph, &all, &["a", "relu", "b"], &["a", "relu", "b"], [4, 4]), "'b' does not follow it"),
        (shared(&graph, &all, &["b"], &["a"], [4, 4]), "takes part but does not list"),
        (shared(&graph, &["a", "b", "relu", "sum"], &["a", "relu"], &["a", "relu"], [4, 4]), "in a row"),
        (shared(&graph, &all, &["a"], &["a"], [usize::MAX, 1]), "add up"),
        (shared(&graph, &all, &["a"], &[], [4, 4]), "is empty"),
    ];
    for (schedule, expected) in cases {
        let error = schedule.validate(&graph, &board()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}: should say '{expected}'");
    }
    let mut wrong = shared(&graph, &all, &["a"], &["a"], [4, 4]);
    wrong.stages[0].replicas[0].splits[0].shares.push(0);
    assert!(matches!(wrong.validate(&graph, &board()), Err(ScheduleError::Split { .. })));
}

/// Of three processors, two make four channels each.
#[test]
fn who_makes_nothing_of_an_operator_does_not_list_it() {
    let graph = graph();
    let with = |gpu: &[&str]| {
        let assignment = |processor, names: &[&str]| Assignment { processor, operators: find_operators(&graph, names) };
        let assignments = vec![
            assignment(Processor::new("B", [0]), &["a", "relu", "b"]),
            assignment(Processor::new("B", [1]), &["a"]),
            assignment(Processor::accelerator("G"), gpu),
        ];
        let split =
            OperatorSplit { operators: find_operators(&graph, &["a"]), along: Along::Channels, shares: vec![4, 4, 0] };
        Schedule { stages: vec![Stage { replicas: vec![Replica { assignments, splits: vec![split] }] }] }
    };
    with(&["sum"]).validate(&graph, &board()).unwrap();
    let error = with(&["a", "sum"]).validate(&graph, &board()).unwrap_err().to_string();
    assert!(error.contains("makes nothing of it but lists it"), "{error}");
}

#[test]
fn an_accelerator_works_for_one_stage() {
    let graph = graph();
    let stage = |names: &[&str]| Stage {
        replicas: vec![Replica::single(Processor::accelerator("G"), find_operators(&graph, names))],
    };
    let twice = Schedule { stages: vec![stage(&["a", "relu"]), stage(&["b", "sum"])] };
    assert!(
        matches!(twice.validate(&graph, &board()), Err(ScheduleError::SharedAccelerator { stage, .. }) if stage.number() == 2)
    );
    let once = Schedule { stages: vec![stage(&["a", "relu", "b", "sum"])] };
    once.validate(&graph, &board()).unwrap();
    let unknown = Schedule {
        stages: vec![Stage { replicas: vec![Replica::single(Processor::accelerator("N"), graph.order().to_vec())] }],
    };
    assert!(unknown.validate(&graph, &board()).is_err());
}
