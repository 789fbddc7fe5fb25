//! The bound on all schedules, worked out by hand.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use millstream_board::{Board, Memory};
use millstream_certify::{CertifyError, PartsPerBillion, ThroughputProof, check_throughput};
use millstream_graph::{DataType, Graph, GraphBuilder, NewOperator, OperatorKind, Shape, Work};
use millstream_test_support::{board, pointwise, uniform_table};

/// A convolution of four channels, which can be divided, that moves so many bytes.
fn graph(bytes: u64) -> Graph {
    let mut builder = GraphBuilder::new("one");
    let shape = || Some(Shape::from([1, 4, 1, 1]));
    let [input, output] = ["input", "output"].map(|name| builder.value(name, Some(DataType::F32), shape()).unwrap());
    builder.input(input);
    let work = Work { weight_bytes: bytes, ..Work::default() };
    let operator = NewOperator::new("o", "Conv", OperatorKind::Convolution(pointwise(4))).work(work);
    builder.operator(operator.reads([input]).makes([output])).unwrap();
    builder.output(output);
    builder.build().unwrap()
}

/// Nanoseconds of the bound on one core, on which the operator takes 1000 ns, with a memory that moves so many bytes in
/// each.
fn bound(bytes: u64, bytes_per_nanosecond: Option<f64>) -> f64 {
    let mut document = board("B1").to_document();
    document.memory = bytes_per_nanosecond.map(|rate| Memory { bytes_per_second: rate * 1e9, bytes: None });
    let (board, graph) = (Board::try_from(document).unwrap(), graph(bytes));
    let table = uniform_table(&graph, &board, [1000]);
    let shares = vec![PartsPerBillion { label: "B".to_owned(), parts: 1_000_000_000 }];
    // Nobody proves as much, so the checker says what it found.
    let claimed = ThroughputProof { period_nanoseconds: u64::MAX, shares };
    match check_throughput(&claimed, &graph, &board, &table) {
        Err(CertifyError::Number { found, .. }) => found,
        other => panic!("{other:?}"),
    }
}

/// Times of parts are rounded, so that those of a divided operator may be a nanosecond less than its own; and what the
/// memory takes is rounded down.
#[test]
fn the_bound_is_below_what_rounding_may_save() {
    assert_eq!(bound(0, None), 999.0);
    assert_eq!(bound(5000, Some(8.0)), 999.0);
    assert_eq!(bound(5000, Some(1.0)), 4999.0);
}
