//! Segments chained over ONNX Runtime give what the whole network gives, and misfits are refused.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::Arc;

use millstream_backend::{Backend, BackendError, Segment, Tensor};
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
fn chained_segments_equal_the_whole() {
    let model = Arc::new(millstream_zoo::build("squeezenet").unwrap());
    let graph = model.graph();
    let input = image(graph);
    let expected = run_whole(&model, input.clone());
    let backend = backend(&model);
    let mut values = vec![None; graph.values().len()];
    values[graph.inputs()[0].index()] = Some(input);
    // Cuts anywhere, also between a convolution and its activation and inside fire modules.
    for operators in graph.order().chunks(7) {
        let segment = Segment::new(graph, operators.to_vec());
        let mut prepared = backend.prepare(&segment, &Processor::new("B", [0, 1])).unwrap();
        let inputs: Vec<Tensor> =
            segment.boundary.inputs.iter().map(|value| values[value.index()].clone().unwrap()).collect();
        for (value, tensor) in segment.boundary.outputs.iter().zip(prepared.run(&inputs).unwrap()) {
            assert_eq!(Some(tensor.shape()), graph.value(*value).shape.as_ref());
            values[value.index()] = Some(tensor);
        }
    }
    let result = values[graph.outputs()[0].index()].clone().unwrap();
    for (left, right) in result.as_f32().unwrap().iter().zip(expected[0].as_f32().unwrap()) {
        assert!((left - right).abs() <= 1e-4 * right.abs().max(1e-3), "{left} {right}");
    }
}

#[test]
fn a_tensor_that_does_not_fit_is_refused_and_the_segment_stays_usable() {
    let model = Arc::new(millstream_zoo::build("squeezenet").unwrap());
    let graph = model.graph();
    let mut prepared = backend(&model).prepare(&Segment::whole(graph), &Processor::new("B", [0])).unwrap();
    let error = prepared.run(&[Tensor::from_f32([1, 3, 2, 2], vec![0.0; 12])]).unwrap_err();
    assert!(matches!(&error, BackendError::Input { value, .. } if value == "image"), "{error}");
    let integers = Tensor::from_i64([1, 3, 224, 224], vec![0; 3 * 224 * 224]);
    assert!(prepared.run(&[integers]).unwrap_err().to_string().contains("f32 [1, 3, 224, 224]"));
    assert!(matches!(prepared.run(&[]), Err(BackendError::Failed { .. })));
    assert!(prepared.run(&[image(graph)]).is_ok());
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
fn a_trace_covers_every_operator_and_adds_up_to_the_frame() {
    let model = Arc::new(millstream_zoo::build("squeezenet").unwrap());
    let graph = model.graph();
    let mut frames = Vec::new();
    let times = backend(&model)
        .trace(&Segment::whole(graph), &Processor::new("B", [0]), &[image(graph)], &mut |time| {
            frames.push(time.as_secs_f64());
            frames.len() < 5
        })
        .unwrap();
    let mut operators: Vec<_> = times.iter().flat_map(|times| times.operators.iter().copied()).collect();
    operators.sort_unstable();
    assert_eq!(operators, graph.operator_ids().collect::<Vec<_>>());
    assert!(times.iter().all(|times| times.seconds.len() == 5));
    for (frame, &whole) in frames.iter().enumerate() {
        let sum: f64 = times.iter().map(|times| times.seconds[frame]).sum();
        assert!(sum <= whole && sum > 0.0, "{sum} {whole}");
    }
    // A convolution runs with its activation.
    let activation = graph.find_operator("Relu_1").unwrap();
    let group = times.iter().find(|times| times.operators.contains(&activation)).unwrap();
    assert!(group.operators.contains(&graph.find_operator("Conv_0").unwrap()));
}
