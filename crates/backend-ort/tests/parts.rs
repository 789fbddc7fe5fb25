//! Operators in parts by output channels give what the whole operators give.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::ops::Range;
use std::sync::Arc;

use millstream_backend::{Backend, BackendError, Segment, Tensor};
use millstream_backend_ort::{Environment, OrtBackend};
use millstream_board::Processor;
use millstream_graph::{DataType, Graph, OperatorId, Shape};
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

/// Weights that come first, transposed or not, with what Gemm adds as a column, and a part of a quantised operator: its scales and its
/// bias are divided with it, and the results are the same bits.
#[test]
fn parts_of_products_with_weights_first_and_of_quantised_operators() {
    let floats = |shape: &[usize], seed| Weight::from_f32(shape.to_vec(), pattern(&shape.to_vec().into(), seed));
    let bytes = |shape: &[usize], seed: usize, data_type| {
        let count: usize = shape.iter().product();
        let data: Vec<u8> = (0..count).map(|index| ((index * 37 + seed * 11) % 251) as u8).collect();
        Weight { data_type, shape: shape.to_vec().into(), data: data.into() }
    };
    let mut builder = ModelBuilder::new("products");
    let columns = builder.input("columns", [8, 5]);
    let first = builder.weight("first", &floats(&[12, 8], 1));
    let product = builder.node("MatMul", &[&first, &columns]);
    let turned = builder.weight("turned", &floats(&[8, 12], 2));
    let column = builder.weight("column", &floats(&[12, 1], 3));
    let sum = builder.node_with("Gemm", &[&turned, &columns, &column], Attributes::new().int("transA", 1));
    let integers = builder.typed_open_input("integers", DataType::U8, &["1", "6", "8"]);
    let zero = builder.weight("zero", &bytes(&[], 5, DataType::U8));
    let matrix = builder.weight("matrix", &bytes(&[8, 10], 4, DataType::I8));
    let zeros = builder.weight("zeros", &bytes(&[10], 0, DataType::I8));
    let sums = builder.node("MatMulInteger", &[&integers, &matrix, &zero, &zeros]);
    let scale = |builder: &mut ModelBuilder, shape: &[usize], value: f32| {
        let count = shape.iter().product();
        let scales = (0..count).map(|index| value * (1.0 + index as f32 / 8.0)).collect();
        builder.weight("scale", &Weight::from_f32(shape.to_vec(), scales))
    };
    let (a, b, y) = (scale(&mut builder, &[], 0.02), scale(&mut builder, &[10], 0.01), scale(&mut builder, &[], 0.5));
    let linear = builder.node("QLinearMatMul", &[&integers, &a, &zero, &matrix, &b, &zeros, &y, &zero]);
    for result in [&product, &sum, &sums, &linear] {
        builder.output(result);
    }
    let model = Arc::new(builder.build().unwrap());
    let graph = model.graph();
    let backend = OrtBackend::new(&Environment::load().unwrap(), Arc::clone(&model));
    for &id in graph.order() {
        check_two_parts(graph, &backend, id);
    }
}

/// An operator of one input in two parts, a third and the rest of its channels, beside the whole: the same bits.
fn check_two_parts(graph: &Graph, backend: &OrtBackend, id: OperatorId) {
    let segment = Segment::new(graph, vec![id]);
    let units = graph.channel_units(id).unwrap_or_else(|| panic!("{}", graph.operator(id).name));
    let value = graph.value(segment.boundary.inputs[0]);
    let shape = value.shape.clone().unwrap();
    let input = match value.data_type.unwrap() {
        DataType::F32 => Tensor::from_f32(shape.clone(), pattern(&shape, 7)),
        other => Tensor::from_bytes(
            other,
            shape.clone(),
            (0..shape.elements() as u8).map(|byte| byte.wrapping_mul(5)).collect(),
        ),
    };
    let whole = run(backend, &segment, std::slice::from_ref(&input));
    let cut = units.channels / 3;
    let parts = [0..cut, cut..units.channels].map(|range| {
        let part = Segment::part(graph, vec![id], range);
        run(backend, &part, std::slice::from_ref(&input)).remove(0)
    });
    // Rows are whole one after the other; columns alternate.
    let row = |tensor: &Tensor| {
        tensor.bytes().unwrap().len() / tensor.shape().dimensions()[..units.axis].iter().product::<usize>()
    };
    let rows = whole[0].shape().dimensions()[..units.axis].iter().product::<usize>();
    let joined: Vec<u8> = (0..rows)
        .flat_map(|index| {
            parts
                .iter()
                .flat_map(move |part| part.bytes().unwrap()[index * row(part)..(index + 1) * row(part)].to_vec())
        })
        .collect();
    assert_eq!(joined, whole[0].bytes().unwrap(), "{}", graph.operator(id).name);
}
