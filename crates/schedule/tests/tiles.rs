//! Operators that several processors divide by rows: what is valid, and what it takes.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use millstream_board::{Board, Processor};
use millstream_cost::{CostTable, Nanoseconds, RowCost, TransferModel};
use millstream_graph::{
    Along, DataType, Graph, GraphBuilder, Locality, NewOperator, OperatorKind, Shape, Window, Work,
};
use millstream_schedule::{
    Assignment, OperatorSplit, Replica, ReplicaTasks, Schedule, ScheduleDocument, ScheduleError, Stage, Task,
    repeated_weight_bytes,
};
use millstream_test_support::{find_operators, uniform_table};

/// `x -> p -> a -> b -> c`: of 8 rows each; `a` and `b` need a row above and below, `c` needs everything.
fn graph() -> Graph {
    graph_of(8)
}

fn graph_of(rows: usize) -> Graph {
    weighty_graph(rows, 0)
}

/// The same with weights of so many bytes at each operator.
fn weighty_graph(rows: usize, weight_bytes: u64) -> Graph {
    let mut builder = GraphBuilder::new("rows");
    let names = ["x", "p", "a", "b", "c"];
    let values =
        names.map(|name| builder.value(name, Some(DataType::F32), Some(Shape::from([1, 1, rows, 1]))).unwrap());
    builder.input(values[0]);
    let around = || Locality::Windows(vec![Window { span: 3, stride: 1, padding: 1 }; 2]);
    let localities = [Locality::SamePosition { mixed: Vec::new() }, around(), around(), Locality::Global];
    for (index, locality) in localities.into_iter().enumerate() {
        let work = Work { weight_bytes, ..Work::default() };
        let operator = NewOperator::new(names[index + 1], "Any", OperatorKind::Opaque).locality(locality).work(work);
        builder.operator(operator.reads([values[index]]).makes([values[index + 1]])).unwrap();
    }
    builder.output(values[4]);
    builder.build().unwrap()
}

fn board() -> Board {
    millstream_test_support::board("B1+s1:512")
}

/// Every operator takes 1000 ns on B and 2000 on s; a byte takes 10 ns between them. A tile takes 10 ns to start, 80 ns
/// for reading all rows and 40 for writing them.
fn table(graph: &Graph) -> CostTable {
    let mut table = uniform_table(graph, &board(), [1000, 2000]);
    let processors: Vec<_> = table.class_ids().collect();
    for &processor in &processors {
        for id in graph.operator_ids() {
            let [start, read, write] = [10, 80, 40].map(Nanoseconds);
            table.set_rows(processor, id, RowCost { fixed_fraction: 0.0, start, read, write });
        }
    }
    let model = TransferModel { seconds_per_byte: 1e-8, ..TransferModel::default() };
    table.set_transfer(processors[0], processors[1], model);
    table.set_transfer(processors[1], processors[0], model);
    table
}

/// B does everything, and s its rows of `split`.
fn tiled(graph: &Graph, split: &[&str], rows: [usize; 2]) -> Schedule {
    let assignment = |processor, names: &[&str]| Assignment { processor, operators: find_operators(graph, names) };
    let big = assignment(Processor::new("B", [0]), &["p", "a", "b", "c"]);
    let small = assignment(Processor::new("s", [1]), split);
    let splits =
        vec![OperatorSplit { operators: find_operators(graph, split), along: Along::Rows, shares: rows.to_vec() }];
    Schedule { stages: vec![Stage { replicas: vec![Replica { assignments: vec![big, small], splits }] }] }
}

#[test]
fn tiles_take_their_rows_and_halos() {
    let graph = graph();
    let table = table(&graph);
    let schedule = tiled(&graph, &["a", "b"], [6, 2]);
    schedule.validate(&graph, &board()).unwrap();
    // B makes 7 rows of a (875 + 10 + 70) and 6 of b (750 + 30) after p. s waits for 4 of the 8 rows of p (160), makes
    // 3 of a (750 + 10 + 30) and 2 of b (500 + 10), and has these at B 80 later: after 2540. B is done with its own
    // after 2735.
    assert_eq!(schedule.evaluate(&graph, &table).unwrap().latency, Nanoseconds(2735 + 1000));
    // The other way round: s waits 320 for all 8 rows, makes 7 of a (1750 + 10 + 70) and 6 of b (1500 + 30), and these
    // are at B after 240 more.
    let schedule = tiled(&graph, &["a", "b"], [2, 6]);
    assert_eq!(schedule.evaluate(&graph, &table).unwrap().latency, Nanoseconds(1000 + 320 + 1830 + 1530 + 240 + 1000));
    // A single operator: 4 rows each. s waits for 5 rows (200), 1000 + 10 + 40 + 20, and 160 back.
    let schedule = tiled(&graph, &["a"], [4, 4]);
    assert_eq!(schedule.evaluate(&graph, &table).unwrap().latency, Nanoseconds(1000 + 200 + 1070 + 160 + 2000));
}

/// Two operators that are divided one after the other, and not together: a part of the second takes from each part of
/// the first only the rows that it needs.
#[test]
fn tiles_take_from_tiles_only_what_they_need() {
    let graph = graph();
    let mut schedule = tiled(&graph, &["a", "b"], [4, 4]);
    let replica = &mut schedule.stages[0].replicas[0];
    let single = |name: &str| OperatorSplit {
        operators: find_operators(&graph, &[name]),
        along: Along::Rows,
        shares: vec![4, 4],
    };
    replica.splits = vec![single("a"), single("b")];
    schedule.validate(&graph, &board()).unwrap();
    let b = find_operators(&graph, &["b"])[0];
    let tasks = schedule.stages[0].replicas[0].tasks(&graph);
    let read = |on: usize| -> Vec<(usize, u64)> {
        let task = tasks.iter().find(|task| task.operator == b && task.processor.index() == on).unwrap();
        task.inputs.iter().map(|input| (tasks[input.maker.index()].processor.index(), input.bytes)).collect()
    };
    // A row has 4 bytes; each part needs 5 rows, of which the other one makes one.
    assert_eq!((read(0), read(1)), (vec![(0, 16), (1, 4)], vec![(0, 4), (1, 16)]));
    // s is done with its rows of a after 1000 + 200 + 1070, and with those of b 1070 later, which are at B after 160
    // more.
    let latency = schedule.evaluate(&graph, &table(&graph)).unwrap().latency;
    assert_eq!(latency, Nanoseconds(2270 + 1070 + 160 + 1000));
}

#[test]
fn tasks_with_other_rows_are_those_of_a_new_replica() {
    let graph = graph();
    let table = table(&graph);
    let mut schedule = tiled(&graph, &["a", "b"], [6, 2]);
    let replica = &mut schedule.stages[0].replicas[0];
    let mut tasks = ReplicaTasks::new(replica, &graph, &table).unwrap();
    replica.splits[0].shares = vec![3, 5];
    tasks.reshare(replica, 0, &graph).unwrap();
    assert_eq!(tasks.tasks(), tiled(&graph, &["a", "b"], [3, 5]).stages[0].replicas[0].tasks(&graph));
}

/// A schedule of two stages as a file has it, read again.
fn read_again(graph: &Graph, stages: &serde_json::Value) -> Result<Schedule, ScheduleError> {
    let text = serde_json::json!({
        "format": "millstream-schedule", "version": 1,
        "provenance": {"tool_version": "0", "created": "now"},
        "model": {"name": "rows", "source": "none", "digest": "d", "batch": 1},
        "board": {"name": board().name(), "fingerprint": board().fingerprint()},
        "algorithm": "none", "objective": "latency", "configuration": "B1+s1",
        "predicted": {"period_seconds": 1.0, "latency_seconds": 1.0, "lower_bound_period_seconds": 1.0, "replica_seconds": [[1.0]]},
        "stages": stages,
    });
    ScheduleDocument::from_json(&text.to_string()).unwrap().resolve(graph, "d", &board())
}

#[test]
fn tiles_survive_their_document() {
    let graph = graph();
    let schedule = tiled(&graph, &["a", "b"], [6, 2]);
    let mut stages = serde_json::to_value(schedule.to_stages(&graph)).unwrap();
    let split = &stages[0]["replicas"][0]["splits"][0];
    assert_eq!(*split, serde_json::json!({"operators": ["a", "b"], "rows": [6, 2]}));
    assert_eq!(read_again(&graph, &stages).unwrap(), schedule);
    stages[0]["replicas"][0]["splits"][0]["channels"] = serde_json::json!([1, 0]);
    let error = read_again(&graph, &stages).unwrap_err().to_string();
    assert!(error.contains("shares of channels and of rows"), "{error}");
    let mut stages = serde_json::to_value(schedule.to_stages(&graph)).unwrap();
    stages[0]["replicas"][0]["splits"][0]["rows"] = serde_json::json!([]);
    let error = read_again(&graph, &stages).unwrap_err().to_string();
    assert!(error.contains("names no shares"), "{error}");
}

/// B runs all of an attention but what s makes of it by heads.
fn by_heads(graph: &Graph, heads: [usize; 2]) -> Schedule {
    let group = graph.head_groups().remove(0);
    let mut operators: Vec<_> = graph.order().iter().copied().filter(|id| !group.contains(id)).collect();
    let after = operators.iter().position(|&id| graph.operator(id).name == "normal").unwrap() + 1;
    operators.splice(after..after, group.iter().copied());
    let assignments = vec![
        Assignment { processor: Processor::new("B", [0]), operators },
        Assignment { processor: Processor::new("s", [1]), operators: group.clone() },
    ];
    let splits = vec![OperatorSplit { operators: group, along: Along::Heads, shares: heads.to_vec() }];
    Schedule { stages: vec![Stage { replicas: vec![Replica { assignments, splits }] }] }
}

#[test]
fn heads_take_their_part_of_every_operator() {
    let graph = millstream_test_support::attention(6, 4, 2);
    let table = table(&graph);
    let schedule = by_heads(&graph, [3, 1]);
    schedule.validate(&graph, &board()).unwrap();
    // Three projections with two moves each, scores, shares, weighted, back and joined: 14 operators. s has a quarter
    // of each, which is 500, after the 192 bytes of the tokens (1920); the first takes 10 + 80 for the layout of all tokens, the
    // last 10.
    // Of what is joined, 48 bytes go back to B.
    let of_s = 1920 + 14 * 500 + 90 + 10 + 480;
    let of_b = 14 * 750 + 90 + 30;
    assert_eq!(schedule.evaluate(&graph, &table).unwrap().latency, Nanoseconds(1000 + of_b.max(of_s) + 2 * 1000));
    let schedule = by_heads(&graph, [2, 2]);
    let of_s = 1920 + 14 * 1000 + 90 + 20 + 960;
    assert_eq!(schedule.evaluate(&graph, &table).unwrap().latency, Nanoseconds(1000 + of_s + 2 * 1000));

    let stages = serde_json::to_value(schedule.to_stages(&graph)).unwrap();
    assert_eq!(stages[0]["replicas"][0]["splits"][0]["heads"], serde_json::json!([2, 2]));
    assert_eq!(read_again(&graph, &stages).unwrap(), schedule);
    let error = |shares: [usize; 2]| by_heads(&graph, shares).validate(&graph, &board()).unwrap_err().to_string();
    assert!(error([2, 1]).contains("must add up to its 4 heads"), "{}", error([2, 1]));
    let mut in_rows = by_heads(&graph, [3, 3]);
    in_rows.stages[0].replicas[0].splits[0].along = Along::Rows;
    in_rows.validate(&graph, &board()).unwrap();
    let mut columns = in_rows.clone();
    columns.stages[0].replicas[0].splits[0].along = Along::Columns;
    let error = columns.validate(&graph, &board()).unwrap_err().to_string();
    assert!(error.contains("so there are no columns that can be made apart"), "{error}");
}

/// Tiles by tokens of what was made by heads: of each part, a reader takes its tokens of those features.
#[test]
fn tiles_take_their_part_of_what_was_divided_otherwise() {
    let graph = millstream_test_support::attention(6, 4, 2);
    let mut schedule = by_heads(&graph, [3, 1]);
    let operators = find_operators(&graph, &["projection", "sum"]);
    let replica = &mut schedule.stages[0].replicas[0];
    replica.assignments[1].operators.extend(operators.iter().copied());
    replica.splits.push(OperatorSplit { operators: operators.clone(), along: Along::Rows, shares: vec![4, 2] });
    schedule.validate(&graph, &board()).unwrap();

    let tasks = schedule.stages[0].replicas[0].tasks(&graph);
    let read = |on: usize| -> Vec<(usize, u64)> {
        let is_meant = |task: &&Task| task.operator == operators[0] && task.processor.index() == on;
        let inputs = &tasks.iter().find(is_meant).unwrap().inputs;
        inputs.iter().map(|input| (tasks[input.maker.index()].processor.index(), input.bytes)).collect()
    };
    // A token has 6 features of B and 2 of s, with 4 bytes each. B takes 4 tokens, and s takes 2.
    assert_eq!((read(0), read(1)), (vec![(0, 4 * 24), (1, 4 * 8)], vec![(0, 2 * 24), (1, 2 * 8)]));
}

/// Tiles by rows, whose keys and values each processor makes whole.
#[test]
fn what_is_made_whole_takes_its_whole_time() {
    let graph = millstream_test_support::attention(6, 4, 2);
    let table = table(&graph);
    let mut schedule = by_heads(&graph, [4, 2]);
    schedule.stages[0].replicas[0].splits[0].along = Along::Rows;
    schedule.validate(&graph, &board()).unwrap();
    // s makes the six operators of keys and values whole, and a third of the other eight; of the six rows of what it
    // reads, it needs all.
    let of_s = 1920 + 6 * 2000 + 8 * 667 + 10 + 27 + 13 + 640;
    let latency = schedule.evaluate(&graph, &table).unwrap().latency.0;
    assert!(latency.abs_diff(1000 + of_s + 2000) <= 8, "{latency} and {of_s}, but for rounding");
}

#[test]
fn tiles_that_can_not_be_made_say_why() {
    let graph = graph();
    let cases = [
        (tiled(&graph, &["a", "b"], [8, 1]), "must add up to its 8 rows"),
        (tiled(&graph, &["a", "b"], [8, 0]), "fewer than two processors make rows"),
        (tiled(&graph, &["b", "c"], [4, 4]), "'c' needs more than some positions around each of its own"),
        (tiled(&graph, &["a", "c"], [4, 4]), "what 'a' makes is needed elsewhere as well"),
        (tiled(&graph, &["a", "a"], [4, 4]), "'a' is named twice"),
        (tiled(&graph, &["b", "a"], [4, 4]), "'b' is named before what it reads"),
        (tiled(&graph, &["a", "b"], [usize::MAX, 9]), "must add up"),
    ];
    for (schedule, expected) in cases {
        let error = schedule.validate(&graph, &board()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}: should say '{expected}'");
        // What is wrong is found, not run into.
        let _ = schedule.evaluate(&graph, &table(&graph));
    }
}

#[test]
fn more_tiles_than_rows_are_refused() {
    let (graph, board) = (graph_of(2), millstream_test_support::board("B1+s2:512"));
    let mut schedule = tiled(&graph, &["a", "b"], [1, 1]);
    schedule.validate(&graph, &board).unwrap();
    let replica = &mut schedule.stages[0].replicas[0];
    let third = Assignment { processor: Processor::new("s", [2]), ..replica.assignments[1].clone() };
    replica.assignments.push(third);
    replica.splits[0].shares.push(1);
    let error = schedule.validate(&graph, &board).unwrap_err().to_string();
    assert!(error.contains("3 processors make rows, of which it has 2; give some of them no share"), "{error}");
}

/// Whoever makes rows needs all weights, while channels are divided with theirs. Two values of 32 bytes are there at
/// once.
#[test]
fn every_maker_of_tiles_holds_the_weights() {
    let graph = weighty_graph(8, 1000);
    let values = 2 * 32;
    let held = |schedule: &Schedule| schedule.memory_bytes(&graph, &board());
    assert_eq!(held(&tiled(&graph, &["a", "b"], [6, 2])), 4 * 1000 + 2 * 1000 + values);
    assert_eq!(held(&tiled(&graph, &["a"], [4, 4])), 4 * 1000 + 1000 + values);
    let mut by_channels = tiled(&graph, &["a"], [4, 4]);
    by_channels.stages[0].replicas[0].splits[0].along = Along::Channels;
    assert_eq!(held(&by_channels), 4 * 1000 + values);

    // Heads divide the weights as well, columns do not.
    let graph_of_heads = millstream_test_support::attention(6, 4, 2);
    let schedule = by_heads(&graph_of_heads, [2, 2]);
    let splits = &schedule.stages[0].replicas[0].splits;
    assert_eq!(repeated_weight_bytes(splits, |_| 100), 0);
    let columns = OperatorSplit { along: Along::Columns, ..splits[0].clone() };
    assert_eq!(repeated_weight_bytes(&[columns], |_| 100), 14 * 100);

    let limited = |bytes: u64| millstream_test_support::board(&format!("B1+s1:512 !{bytes}"));
    let schedule = tiled(&graph, &["a", "b"], [6, 2]);
    schedule.validate(&graph, &limited(6064)).unwrap();
    let refused = schedule.validate(&graph, &limited(6063)).unwrap_err();
    assert!(matches!(refused, ScheduleError::Memory { needed_bytes: 6064, most_bytes: 6063 }), "{refused}");
}

/// A processor that makes no tiles can't be part of any.
#[test]
fn processors_without_tiles_do_not_support_them() {
    let graph = graph();
    let table = uniform_table(&graph, &board(), [1000; 2]);
    assert!(tiled(&graph, &["a", "b"], [6, 2]).evaluate(&graph, &table).is_err());
}
