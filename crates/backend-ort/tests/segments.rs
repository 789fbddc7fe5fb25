//! What ONNX Runtime runs beyond the conformance suite, and which operators its traces show as one.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::Arc;

use millstream_backend::{Backend, Observed, Segment, Tensor};
use millstream_backend_ort::{Environment, OrtBackend};
use millstream_board::Processor;
use millstream_graph::{Graph, Shape};
use millstream_onnx::{Attributes, Model, ModelBuilder, Weight};

fn image(graph: &Graph) -> Tensor {
    let shape: Shape = graph.value(graph.inputs()[0]).shape.clone().unwrap();
    let elements = (0..shape.elements()).map(|index| ((index * 37 % 101) as f32 - 50.0) / 50.0).collect();
    Tensor::from_f32(shape, elements)
}

fn backend(model: &Arc<Model>) -> OrtBackend {
    OrtBackend::new(&Environment::load().unwrap(), Arc::clone(model))
}

fn run_whole(model: &Arc<Model>, input: Tensor) -> Vec<Tensor> {
    let mut prepared = backend(model).prepare(&Segment::whole(model.graph()), &Processor::new("B", [0])).unwrap();
    prepared.run(&[input]).unwrap()
}

#[test]
fn operators_without_a_model_run_and_constants_are_folded() {
    let mut builder = ModelBuilder::new("odd");
    let input = builder.input("image", [2, 3, 4, 4]);
    // Not known to the cost models: runs as an opaque operator.
    let shuffled = builder.node_with(
        "ReverseSequence",
        &[&input, "lengths_0"],
        Attributes::new().int("batch_axis", 1).int("time_axis", 0),
    );
    assert_eq!(builder.weight("lengths", &Weight::from_i64([3], &[1, 2, 2])), "lengths_0");
    // A weight that is computed from another weight, and a reshape whose target is computed from a shape.
    let table = builder.weight("table", &Weight::from_f32([96], (0..96).map(|index| index as f32).collect()));
    let doubled = builder.node("Add", &[&table, &table]);
    let shape = builder.node("Shape", &[&shuffled]);
    let table = builder.node("Reshape", &[&doubled, &shape]);
    let half = builder.weight("half", &Weight::from_i64([1], &[-1]));
    let flat = builder.node("Reshape", &[&shuffled, &half]);
    let table = builder.node("Reshape", &[&table, &half]);
    let sum = builder.node("Add", &[&flat, &table]);
    builder.output(&sum);
    let model = Arc::new(builder.build().unwrap());
    let names: Vec<&str> = model.graph().operators().iter().map(|operator| operator.op_type.as_str()).collect();
    assert_eq!(names, ["ReverseSequence", "Reshape", "Add"], "only what depends on a frame is left");
    let outputs = run_whole(&model, Tensor::from_f32([2, 3, 4, 4], vec![0.0; 96]));
    let expected: Vec<f32> = (0..96).map(|index| 2.0 * index as f32).collect();
    assert_eq!(outputs[0].as_f32(), Some(&expected[..]));
}

#[test]
fn an_activation_is_traced_with_its_convolution() {
    let model = Arc::new(millstream_zoo::build("squeezenet").unwrap());
    let graph = model.graph();
    let whole = Segment::whole(graph);
    let times = backend(&model).trace(&whole, &Processor::new("B", [0]), &[image(graph)], &mut |_| false).unwrap();
    let activation = graph.find_operator("Relu_1").unwrap();
    let group = times.iter().find(|times| times.operators.contains(&activation)).unwrap();
    assert!(group.operators.contains(&graph.find_operator("Conv_0").unwrap()));
}
