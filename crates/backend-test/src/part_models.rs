//! Models whose operators are divided by channels in all the ways there are.

use std::sync::Arc;

use millstream_graph::DataType;
use millstream_onnx::{Attributes, Model, ModelBuilder, Weight};

use crate::models::weight;
use crate::rig::of_suite;

/// A grouped convolution whose groups make several channels, constants that differ by channel, and a matrix product
/// with a bias.
pub(crate) fn groups() -> Result<Arc<Model>, String> {
    let mut builder = ModelBuilder::new("groups");
    let image = builder.input("image", [1, 6, 5, 5]);
    let (filter, bias) = (weight(&mut builder, &[12, 2, 3, 3], 1), weight(&mut builder, &[12], 2));
    let map = builder.node_with("Conv", &[&image, &filter, &bias], Attributes::new().int("group", 3));
    let scale = weight(&mut builder, &[12, 1, 1], 3);
    let map = builder.node("Mul", &[&map, &scale]);
    let map = builder.node("Relu", &[&map]);
    let flat = builder.node("Flatten", &[&map]);
    let (matrix, offset) = (weight(&mut builder, &[108, 10], 5), weight(&mut builder, &[10], 6));
    let product = builder.node("MatMul", &[&flat, &matrix]);
    let sum = builder.node("Add", &[&product, &offset]);
    builder.output(&sum);
    of_suite(builder.build())
}

/// A convolution, normalised and activated; a depthwise one; pooling; and normalisation over neighbouring channels.
pub(crate) fn maps() -> Result<Arc<Model>, String> {
    let mut builder = ModelBuilder::new("maps");
    let image = builder.input("image", [1, 3, 9, 9]);
    let filter = weight(&mut builder, &[10, 3, 3, 3], 1);
    let map = builder.node_with("Conv", &[&image, &filter], Attributes::new().ints("strides", &[2; 2]));
    let [scale, shift, mean] = [2, 3, 4].map(|seed| weight(&mut builder, &[10], seed));
    let variance = builder.weight("variance", &Weight::from_f32([10], (1..=10).map(|value| value as f32).collect()));
    let map = builder.node("BatchNormalization", &[&map, &scale, &shift, &mean, &variance]);
    let map = builder.node("Relu", &[&map]);
    let (filter, bias) = (weight(&mut builder, &[10, 1, 3, 3], 5), weight(&mut builder, &[10], 6));
    let attributes = Attributes::new().int("group", 10).ints("pads", &[1; 4]);
    let map = builder.node_with("Conv", &[&map, &filter, &bias], attributes);
    let attributes = Attributes::new().int("size", 5).float("alpha", 0.5).float("beta", 0.75).float("bias", 2.0);
    let map = builder.node_with("LRN", &[&map], attributes);
    let map = builder.node_with("MaxPool", &[&map], Attributes::new().ints("kernel_shape", &[2; 2]));
    let map = builder.node("GlobalAveragePool", &[&map]);
    builder.output(&map);
    of_suite(builder.build())
}

/// A function with a parameter by channel; weights that come first, turned or not, with a bias as a column.
pub(crate) fn weights_first() -> Result<Arc<Model>, String> {
    let mut builder = ModelBuilder::new("weights first");
    let image = builder.input("image", [1, 3, 4, 4]);
    let (filter, slope) = (weight(&mut builder, &[6, 3, 1, 1], 1), weight(&mut builder, &[6, 1, 1], 2));
    let map = builder.node("Conv", &[&image, &filter]);
    let map = builder.node("PRelu", &[&map, &slope]);
    let columns = builder.input("columns", [8, 5]);
    let first = weight(&mut builder, &[12, 8], 3);
    let product = builder.node("MatMul", &[&first, &columns]);
    let (turned, column) = (weight(&mut builder, &[8, 12], 4), weight(&mut builder, &[12, 1], 5));
    let attributes = Attributes::new().int("transA", 1);
    let sum = builder.node_with("Gemm", &[&turned, &columns, &column], attributes);
    for result in [&map, &product, &sum] {
        builder.output(result);
    }
    of_suite(builder.build())
}

/// Products of quantised values, whose scales and zero points are divided with them.
pub(crate) fn quantised() -> Result<Arc<Model>, String> {
    let bytes = |shape: &[usize], seed: usize, data_type| {
        let count: usize = shape.iter().product();
        let data: Vec<u8> = (0..count).map(|index| ((index * 37 + seed * 11) % 251) as u8).collect();
        Weight { data_type, shape: shape.to_vec().into(), data: data.into() }
    };
    let mut builder = ModelBuilder::new("quantised products");
    let integers = builder.typed_open_input("integers", DataType::U8, &["1", "6", "8"]);
    let zero = builder.weight("zero", &bytes(&[], 5, DataType::U8));
    let matrix = builder.weight("matrix", &bytes(&[8, 10], 4, DataType::I8));
    let zeros = builder.weight("zeros", &bytes(&[10], 0, DataType::I8));
    let sums = builder.node("MatMulInteger", &[&integers, &matrix, &zero, &zeros]);
    let mut scale = |shape: &[usize], value: f32| {
        let count: usize = shape.iter().product();
        let scales = (0..count).map(|index| value * (1.0 + index as f32 / 8.0)).collect();
        builder.weight("scale", &Weight::from_f32(shape.to_vec(), scales))
    };
    let (left, right, result) = (scale(&[], 0.02), scale(&[10], 0.01), scale(&[], 0.5));
    let reads = [integers.as_str(), &left, &zero, &matrix, &right, &zeros, &result, &zero];
    let linear = builder.node("QLinearMatMul", &reads);
    for result in [&sums, &linear] {
        builder.output(result);
    }
    of_suite(builder.build())
}
