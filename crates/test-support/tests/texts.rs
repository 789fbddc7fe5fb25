//! What the texts mean, and what is refused.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use millstream_board::{AcceleratorKind, Board};
use millstream_cost::{Nanoseconds, TransferModel};
use millstream_graph::OperatorId;
use millstream_test_support::{board, chain, connect, diamond, find_operators, graph, table, uniform_table};

fn cores(board: &Board) -> Vec<(String, u32, Vec<u32>)> {
    let clusters = board.clusters().iter();
    let ids = |cluster: &millstream_board::Cluster| cluster.cores.iter().map(|core| core.id.0).collect();
    clusters.map(|cluster| (cluster.label.clone(), cluster.capacity, ids(cluster))).collect()
}

#[test]
fn boards_have_the_cores_that_their_text_says() {
    let halves = board("B2+m1+s2");
    assert_eq!(
        cores(&halves),
        [("B".into(), 1024, vec![0, 1]), ("m".into(), 512, vec![2]), ("s".into(), 256, vec![3, 4])]
    );
    let stated = board("s1:300#0 + B2:900#4");
    assert_eq!(cores(&stated), [("B".into(), 900, vec![4, 5]), ("s".into(), 300, vec![0])]);
    assert_eq!(stated.name(), "s1:300#0 + B2:900#4");
}

#[test]
fn boards_have_accelerators_engines_and_memory() {
    let whole = board("B2@onnxruntime,openvino+G+H=gpu+F:4 !600");
    let kinds: Vec<_> = whole.accelerators().iter().map(|own| (own.label.as_str(), own.kind)).collect();
    let expected = [("G", AcceleratorKind::Gpu), ("H", AcceleratorKind::Gpu), ("F", AcceleratorKind::Fpga)];
    assert_eq!(kinds, expected);
    assert_eq!(whole.accelerators()[2].processing_elements, Some(4));
    assert_eq!(whole.memory_bytes(), Some(600));
    assert_eq!(whole.clusters()[0].engines.to_string(), "onnxruntime,openvino");
}

#[test]
fn clusters_have_clocks_and_accelerators_memory_of_their_own() {
    let whole = board("B2:900#4~600e6=0.8,1.5e9=1@openvino + s1~2000 + G[600] + F:4[700] + N");
    assert_eq!(cores(&whole), [("B".into(), 900, vec![4, 5]), ("s".into(), 450, vec![6])]);
    let points = |cluster: usize| whole.clusters()[cluster].operating_points.iter();
    let clocks = |cluster: usize| points(cluster).map(|point| (point.hertz, point.volts)).collect::<Vec<_>>();
    assert_eq!(clocks(0), [(600_000_000, Some(0.8)), (1_500_000_000, Some(1.0))]);
    assert_eq!(clocks(1), [(2000, None)]);
    assert_eq!(whole.clusters()[0].engines.to_string(), "openvino");
    let accelerators: Vec<_> =
        whole.accelerators().iter().map(|own| (own.processing_elements, own.memory_bytes)).collect();
    assert_eq!(accelerators, [(None, Some(600)), (Some(4), Some(700)), (None, None)]);
}

#[test]
fn graphs_have_their_inputs_and_outputs() {
    let graph = graph(2, "sum: x y -> z\nsplit: z -> a b");
    let names =
        |ids: &[millstream_graph::ValueId]| ids.iter().map(|&id| graph.value(id).name.clone()).collect::<Vec<_>>();
    assert_eq!(
        (names(graph.inputs()), names(graph.outputs())),
        (vec!["x".into(), "y".into()], vec!["a".into(), "b".into()])
    );
    assert_eq!(graph.operators()[0].work.bytes(), 24);
    assert_eq!(diamond().operators().len(), 4);
    assert_eq!(find_operators(&diamond(), &["join", "stem"]), [3, 0].map(OperatorId::new));
}

#[test]
fn tables_say_what_runs_where() {
    let (graph, board) = (chain(3), board("B2+G"));
    let mut table = table(&graph, &board, |operator, class| match class.cluster.as_str() {
        "G" => (operator.name == "o1").then_some(5),
        _ => Some(20 / class.count as u64),
    });
    let time = |class: usize, operator| table.time(table.class_ids().nth(class).unwrap(), OperatorId::new(operator));
    assert_eq!(
        [time(0, 0), time(1, 0), time(2, 0), time(2, 1)],
        [20, 10, 0, 5].map(|time| (time > 0).then_some(Nanoseconds(time)))
    );
    connect(&mut table, TransferModel { latency_seconds: 1e-9, ..TransferModel::default() });
    let ends: Vec<_> = table.class_ids().collect();
    assert_eq!(table.transfer(ends[0], ends[2], 100), Nanoseconds(1));
}

fn message(attempt: impl FnOnce() + std::panic::UnwindSafe) -> String {
    let caught = std::panic::catch_unwind(attempt).unwrap_err();
    caught.downcast_ref::<String>().cloned().unwrap_or_else(|| caught.downcast_ref::<&str>().unwrap().to_string())
}

#[test]
fn nonsense_is_named() {
    let of_board = |text: &'static str| message(move || drop(board(text)));
    assert!(of_board("B2+X").contains("'X' is neither a cluster"));
    assert!(of_board("B2:fast").contains("'fast' in 'B2:fast' is not a number"));
    assert!(of_board("B1+B1").contains("there is no board 'B1+B1'"));
    assert!(of_board("B2@,").contains("names engines that there are not"));
    assert!(of_board("B2~1e9=low").contains("'low' in 'B2~1e9=low' is not a number"));
    assert!(of_board("B2~2e9,1e9").contains("must grow from each operating point to the next"));
    assert!(of_board("B2+G[much]").contains("'much' in 'G[much]' is not a number"));
    assert!(message(|| drop(find_operators(&chain(1), &["o7"]))).contains("there is no operator 'o7'"));
    assert!(message(|| drop(graph(1, "one two"))).contains("'one two' is not an operator"));
    assert!(message(|| drop(graph(1, "a: x -> y\nb: x -> y"))).contains("there is no graph of"));
    assert!(message(|| drop(uniform_table(&chain(1), &board("B1"), [1, 2]))).contains("the board has"));
}
