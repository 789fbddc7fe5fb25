//! Operators in parts by output channels give what the whole operators give.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::ops::Range;
use std::sync::Arc;

use millstream_backend::{Backend, BackendError, Segment, Tensor};
use millstream_backend_ort::{Environment, OrtBackend};
use millstream_board::Processor;
use millstream_graph::{Graph, OperatorId, Shape};
use millstream_onnx::{Attributes, ModelBuilder, Weight};

fn pattern(shape: &Shape, seed: usize) -> Vec<f32> {
    (0..shape.elements()).map(|index| ((index as usize * 37 + seed) % 101) as f32 / 50.0 - 1.0).collect()
}

fn run(backend: &OrtBackend, segment: &Segment, inputs: &[Tensor]) -> Vec<Tensor> {
    backend.prepare(segment, &Processor::new("B", [0])).unwrap().run(inputs).unwrap()
}

/// The operators in parts of `channels` joined along the channels, written into memory of the caller's.
fn in_parts(
    backend: &OrtBackend,
    graph: &Graph,
    operators: &[OperatorId],
    cuts: &[usize],
    inputs: &[Tensor],
) -> Vec<f32> {
    let ranges: Vec<Range<usize>> = cuts.windows(2).map(|pair| pair[0]..pair[1]).collect();
    let mut joined = Vec::new();
    for range in ranges {
        let segment = Segment::part(graph, operators.to_vec(), range.clone());
        let made = run(backend, &segment, inputs);
        let mut memory = vec![0_f32; made[0].shape().elements() as usize];
        let mut prepared = backend.prepare(&segment, &Processor::new("B", [0])).unwrap();
        prepared.run_into(inputs, bytemuck::cast_slice_mut(&mut memory)).unwrap();
        assert_eq!(made[0].as_f32().unwrap(), memory, "{range:?}");
        joined.extend(memory);
    }
    joined
}

fn close(left: &[f32], right: &[f32]) {
    assert_eq!(left.len(), right.len());
    for (left, right) in left.iter().zip(right) {
        assert!((left - right).abs() <= 1e-4 * right.abs().max(1e-2), "{left} {right}");
    }
}

/// Every operator of a network that can be divided, at uneven places, with all that follows it channel by channel.
#[test]
fn parts_of_network_operators_join_to_the_whole() {
    for name in ["squeezenet", "mobilenet-v2", "alexnet"] {
        let model = Arc::new(millstream_zoo::build(name).unwrap());
        let graph = model.graph();
        let backend = OrtBackend::new(&Environment::load().unwrap(), Arc::clone(&model));
        let heads: Vec<OperatorId> = graph.operator_ids().filter(|&id| graph.channel_units(id).is_some()).collect();
        assert!(heads.len() > 5, "{name}");
        for (index, &head) in heads.iter().enumerate().step_by(5) {
            let mut operators = vec![head];
            operators.extend(graph.channel_followers(head));
            let segment = Segment::new(graph, operators.clone());
            let shape = graph.value(segment.boundary.inputs[0]).shape.clone().unwrap();
            let inputs = [Tensor::from_f32(shape.clone(), pattern(&shape, index))];
            let whole = run(&backend, &segment, &inputs);
            let units = graph.channel_units(head).unwrap();
            let cut = (units.channels / units.unit * (index % 3 + 1) / 5).max(1) * units.unit;
            let joined = in_parts(&backend, graph, &operators, &[0, cut, units.channels], &inputs);
            close(&joined, whole[0].as_f32().unwrap());
        }
    }
}

/// A grouped convolution whose groups make several channels, constants that differ by channel, and a matrix product.
#[test]
fn groups_biases_and_columns_go_with_their_channels() {
    let mut builder = ModelBuilder::new("odd");
    let input = builder.input("image", [1, 6, 5, 5]);
    let floats = |shape: &[usize], seed: usize| {
        let shape = Shape::from(shape.to_vec());
        Weight::from_f32(shape.clone(), pattern(&shape, seed))
    };
    let filter = builder.weight("filter", &floats(&[12, 2, 3, 3], 1));
    let bias = builder.weight("bias", &floats(&[12], 2));
    let grouped = builder.node_with("Conv", &[&input, &filter, &bias], Attributes::new().int("group", 3));
    let scale = builder.weight("scale", &floats(&[12, 1, 1], 3));
    let scaled = builder.node("Mul", &[&grouped, &scale]);
    let slope = builder.weight("slope", &floats(&[12, 1, 1], 4));
    let activated = builder.node("PRelu", &[&scaled, &slope]);
    let shape = builder.weight("flat", &Weight::from_i64([2], &[1, -1]));
    let flat = builder.node("Reshape", &[&activated, &shape]);
    let matrix = builder.weight("matrix", &floats(&[108, 10], 5));
    let product = builder.node("MatMul", &[&flat, &matrix]);
    let offset = builder.weight("offset", &floats(&[10], 6));
    let sum = builder.node("Add", &[&product, &offset]);
    builder.output(&sum);
    let model = Arc::new(builder.build().unwrap());
    let graph = model.graph();
    let backend = OrtBackend::new(&Environment::load().unwrap(), Arc::clone(&model));
    let order = graph.order();
    assert_eq!(graph.channel_followers(order[0]), order[1..3]);
    assert_eq!(graph.channel_followers(order[4]), order[5..6]);
    for (operators, cuts) in
        [(&order[..3], vec![0, 4, 12]), (&order[..1], vec![0, 8, 12]), (&order[4..6], vec![0, 1, 7, 10])]
    {
        let segment = Segment::new(graph, operators.to_vec());
        let shape = graph.value(segment.boundary.inputs[0]).shape.clone().unwrap();
        let inputs = [Tensor::from_f32(shape.clone(), pattern(&shape, 7))];
        let whole = run(&backend, &segment, &inputs);
        close(&in_parts(&backend, graph, operators, &cuts, &inputs), whole[0].as_f32().unwrap());
    }
    // A cut through a group, no channels, too many channels, an operator that can't be divided, a stranger.
    for (operators, range) in
        [(&order[..1], 0..5), (&order[..1], 4..4), (&order[..1], 8..16), (&order[3..4], 0..54), (&order[..4], 0..4)]
    {
        let segment = Segment::part(graph, operators.to_vec(), range);
        let refused = backend.prepare(&segment, &Processor::new("B", [0]));
        assert!(matches!(refused, Err(BackendError::Prepare { .. })));
    }
    // The room must have the size of the part.
    let segment = Segment::part(graph, order[..1].to_vec(), 0..4);
    let mut prepared = backend.prepare(&segment, &Processor::new("B", [0])).unwrap();
    let shape = Shape::from([1, 6, 5, 5]);
    let refused = prepared.run_into(&[Tensor::from_f32(shape.clone(), pattern(&shape, 0))], &mut [0; 12]);
    assert!(matches!(refused, Err(BackendError::Failed { .. })), "{refused:?}");
}
