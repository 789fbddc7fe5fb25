//! Pipe-it's heuristic on networks whose layers are like those of its example (section VI-D).

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use millstream_board::Board;
use millstream_cost::{CostTable, Nanoseconds};
use millstream_graph::{DataType, Graph, GraphBuilder, NewOperator, OperatorKind, Shape};
use millstream_partition::Chain;
use millstream_pipeline::{Exact, PipeIt, Problem, Search};

fn board(big: usize, small: usize) -> Board {
    let cores = |from: usize, count: usize| {
        (from..from + count).map(|id| format!(r#"{{"id": {id}}}"#)).collect::<Vec<_>>().join(", ")
    };
    let text = format!(
        r#"{{"format": "millstream-board", "version": 1, "name": "two clusters", "clusters": [
            {{"label": "B", "capacity": 1024, "cores": [{}]}}, {{"label": "s", "capacity": 400, "cores": [{}]}}]}}"#,
        cores(0, big),
        cores(big, small)
    );
    Board::from_json(&text).unwrap()
}

/// A chain of layers with these times on one big core.
fn problem(layers: &[u64], board: &Board, speed: impl Fn(&str, usize) -> f64) -> (Graph, Problem, CostTable) {
    let mut builder = GraphBuilder::new("chain");
    let mut value = builder.value("x", Some(DataType::F32), Some(Shape::from([1]))).unwrap();
    builder.input(value);
    for index in 0..layers.len() {
        let made = builder.value(format!("v{index}"), Some(DataType::F32), Some(Shape::from([1]))).unwrap();
        builder
            .operator(NewOperator::new(format!("o{index}"), "Layer", OperatorKind::Opaque).reads([value]).makes([made]))
            .unwrap();
        value = made;
    }
    builder.output(value);
    let graph = builder.build().unwrap();
    let mut table = CostTable::new(layers.len(), board.processor_classes());
    for processor in table.processors() {
        let class = table.classes()[processor.index()].clone();
        for (operator, &time) in layers.iter().enumerate() {
            let scaled = time as f64 / speed(&class.cluster, class.count);
            table.set_time(processor, operator, Nanoseconds(scaled as u64));
        }
    }
    let problem = Problem::new(&graph, &Chain::of(&graph), board, &table).unwrap();
    (graph, problem, table)
}

#[test]
fn layers_flow_until_neighbours_are_balanced() {
    // Two equal cores and layers of 100, 100, 110, 90: the third one stays, since moving it would not leave the first stage slower
    // than the second. With four equal layers the printed condition stops one layer early, where two each would be best. No
    // merger helps, as two cores are no faster than one.
    let board = board(2, 1);
    let speed = |cluster: &str, _: usize| if cluster == "B" { 1.0 } else { 0.01 };
    for (layers, split, period) in [([100, 100, 110, 90], 3, 310), ([100; 4], 3, 300), ([100, 110, 100, 90], 2, 210)] {
        let (_, problem, _) = problem(&layers, &board, speed);
        let plan = PipeIt.search(&problem).unwrap();
        let shares: Vec<_> = plan.stages.iter().map(|stage| stage.blocks.clone()).collect();
        assert_eq!(shares, [0..split, split..4], "the slow core is left out");
        assert_eq!(plan.period, Nanoseconds(period));
        assert!(Exact.search(&problem).unwrap().period <= Nanoseconds(200), "replicas take turns");
    }
}

#[test]
fn stages_merge_where_threads_pay() {
    // 54 layers that become lighter, as ResNet50's; threads scale well on big cores and saturate at two on small ones.
    let layers: Vec<u64> = (0..54).map(|index| 3000 - 40 * index as u64 + 700 * (index as u64 % 3)).collect();
    let board = board(4, 4);
    let speed = |cluster: &str, count: usize| match cluster {
        "B" => [1.0, 1.95, 2.85, 3.7][count - 1],
        _ => 0.4 * [1.0, 1.9, 2.0, 2.05][count - 1],
    };
    let (graph, problem, table) = problem(&layers, &board, speed);
    let plan = PipeIt.search(&problem).unwrap();
    let schedule = problem.schedule(&plan);
    schedule.validate(&graph, &board).unwrap();
    assert_eq!(schedule.evaluate(&graph, &table).unwrap().period, plan.period);
    let has_merged = |cluster: &str| {
        plan.stages.iter().flat_map(|stage| &stage.replicas).any(|class| class.cluster == cluster && class.count > 1)
    };
    assert!(has_merged("B") && has_merged("s"), "{schedule}");
    // Three small cores are hardly faster than two.
    assert!(!schedule.to_string().contains("s3") && !schedule.to_string().contains("s4"), "{schedule}");
    let exact = Exact.search(&problem).unwrap();
    assert!(exact.period <= plan.period);
    assert_eq!((PipeIt.name(), Exact.name()), ("pipe-it", "exact"));
}
