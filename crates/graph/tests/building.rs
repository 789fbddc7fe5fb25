//! What a graph accepts, what it refuses, and the order it fixes.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use millstream_graph::{DataType, Graph, GraphBuilder, GraphError, NewOperator, OperatorKind, Shape};
use proptest::prelude::*;

fn tensor(builder: &mut GraphBuilder, name: &str) -> millstream_graph::ValueId {
    builder.value(name, Some(DataType::F32), Some(Shape::from([2, 3]))).unwrap()
}

fn relu(name: &str) -> NewOperator {
    NewOperator::new(name, "Relu", OperatorKind::Activation)
}

fn diamond() -> Graph {
    let mut builder = GraphBuilder::new("diamond");
    let [input, a, b, c, d] = ["input", "a", "b", "c", "d"].map(|name| tensor(&mut builder, name));
    builder.input(input);
    builder.operator(NewOperator::new("join", "Add", OperatorKind::Elementwise).reads([b, c]).makes([d])).unwrap();
    builder.operator(relu("left").reads([a]).makes([b])).unwrap();
    builder.operator(relu("right").reads([a]).makes([c])).unwrap();
    builder.operator(relu("stem").reads([input]).makes([a])).unwrap();
    builder.output(d);
    builder.build().unwrap()
}

#[test]
fn order_respects_dependencies_and_else_the_order_of_addition() {
    let graph = diamond();
    let names: Vec<&str> = graph.order().iter().map(|&id| graph.operator(id).name.as_str()).collect();
    assert_eq!(names, ["stem", "left", "right", "join"]);
}

#[test]
fn boundary_lists_what_crosses() {
    let graph = diamond();
    let find = |name: &str| graph.find_operator(name).unwrap();
    let boundary = graph.boundary(&[find("stem"), find("left")]);
    let name = |value: &millstream_graph::ValueId| graph.value(*value).name.clone();
    assert_eq!(boundary.inputs.iter().map(name).collect::<Vec<_>>(), ["input"]);
    assert_eq!(boundary.outputs.iter().map(name).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(graph.value(boundary.outputs[0]).bytes(), Some(24));
}

#[test]
fn a_cycle_is_refused_and_named() {
    let mut builder = GraphBuilder::new("circle");
    let [a, b] = ["a", "b"].map(|name| tensor(&mut builder, name));
    builder.operator(relu("one").reads([a]).makes([b])).unwrap();
    builder.operator(relu("two").reads([b]).makes([a])).unwrap();
    builder.output(b);
    let error = builder.build().unwrap_err();
    assert_eq!(error, GraphError::Cycle { operators: vec!["one".into(), "two".into()] });
}

/// A hundred thousand operators behind each other, the last of which leads back: the way round is found without
/// recursion.
#[test]
fn a_long_cycle_does_not_exhaust_the_stack() {
    let mut builder = GraphBuilder::new("long");
    let count = 100_000;
    let values: Vec<_> = (0..=count).map(|index| tensor(&mut builder, &format!("v{index}"))).collect();
    for index in 0..count {
        let reads = if index == 0 { vec![values[count]] } else { vec![values[index]] };
        builder.operator(relu(&format!("o{index}")).reads(reads).makes([values[index + 1]])).unwrap();
    }
    builder.output(values[count]);
    let message = builder.build().unwrap_err().to_string();
    assert!(message.contains("o0, o1, o2") && message.contains("and 99992 more"), "{message}");
}

#[test]
fn sizes_do_not_overflow() {
    let large = Shape::from([usize::MAX, 8]);
    assert_eq!(large.elements(), u64::MAX);
    assert_eq!(Shape::from([usize::MAX, usize::MAX, 0]).elements(), 0);
    let value = millstream_graph::Value { name: "x".into(), data_type: Some(DataType::F64), shape: Some(large) };
    assert_eq!(value.bytes(), Some(u64::MAX));
}

#[test]
fn missing_and_double_producers_are_refused() {
    let mut builder = GraphBuilder::new("missing");
    let [a, b] = ["a", "b"].map(|name| tensor(&mut builder, name));
    builder.operator(relu("one").reads([a]).makes([b])).unwrap();
    assert!(matches!(builder.build(), Err(GraphError::NoProducer { value, .. }) if value == "a"));

    let mut builder = GraphBuilder::new("double");
    let [a, b] = ["a", "b"].map(|name| tensor(&mut builder, name));
    builder.input(a);
    builder.operator(relu("one").reads([a]).makes([b])).unwrap();
    builder.operator(relu("two").reads([a]).makes([b])).unwrap();
    assert!(matches!(builder.build(), Err(GraphError::MadeTwice { operator, .. }) if operator == "two"));

    assert!(matches!(GraphBuilder::new("nothing").build(), Err(GraphError::Empty { .. })));
}

proptest! {
    /// Any random DAG, its operators added in a shuffled order, comes out in a topological order.
    #[test]
    fn order_is_topological(edges in prop::collection::vec((0_usize..12, 0_usize..12), 0..40), seed in any::<u64>()) {
        let mut builder = GraphBuilder::new("random");
        let input = tensor(&mut builder, "input");
        builder.input(input);
        let values: Vec<_> = (0..12).map(|index| tensor(&mut builder, &format!("v{index}"))).collect();
        let mut positions: Vec<usize> = (0..12).collect();
        positions.sort_by_key(|&index| (index as u64 + 1).wrapping_mul(seed | 1));
        for &index in &positions {
            let reads = edges.iter().filter(|(from, to)| *to == index && from < to).map(|&(from, _)| values[from]);
            let operator = NewOperator::new(format!("o{index}"), "Sum", OperatorKind::Elementwise);
            builder.operator(operator.reads([input]).reads(reads).makes([values[index]])).unwrap();
        }
        let graph = builder.build().unwrap();
        let mut position = vec![0; graph.operators().len()];
        for (index, id) in graph.order().iter().enumerate() {
            position[id.index()] = index;
        }
        for id in graph.operator_ids() {
            for &value in &graph.operator(id).inputs {
                if let Some(producer) = graph.producer(value) {
                    prop_assert!(position[producer.index()] < position[id.index()]);
                }
            }
        }
    }
}
