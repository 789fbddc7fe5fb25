//! The simplest network.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use millstream_graph::{DataType, Graph, GraphBuilder, NewOperator, OperatorKind, Shape};

/// Opaque operators one behind the other; every value has so many elements.
pub(crate) fn chain(operators: usize, elements: usize) -> Graph {
    let mut builder = GraphBuilder::new("chain");
    let mut value = builder.value("input", Some(DataType::F32), Some(Shape::from([elements]))).unwrap();
    builder.input(value);
    for index in 0..operators {
        let made = builder.value(format!("v{index}"), Some(DataType::F32), Some(Shape::from([elements]))).unwrap();
        let operator = NewOperator::new(format!("o{index}"), "x", OperatorKind::Opaque);
        builder.operator(operator.reads([value]).makes([made])).unwrap();
        value = made;
    }
    builder.output(value);
    builder.build().unwrap()
}
