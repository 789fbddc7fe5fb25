//! The network that most points run: small, with a branch, a join and a matrix product.

use std::sync::Arc;

use millstream_onnx::{Attributes, Model, ModelBuilder, Weight};

use crate::rig::of_suite;
use crate::tensors::floats;

/// A weight of made-up numbers.
pub(crate) fn weight(builder: &mut ModelBuilder, shape: &[usize], seed: u64) -> String {
    let count = shape.iter().product::<usize>() as u64;
    builder.weight("weight", &Weight::from_f32(shape.to_vec(), floats(count, seed)))
}

/// One image in, five numbers out.
pub(crate) fn small() -> Result<Arc<Model>, String> {
    let mut builder = ModelBuilder::new("small");
    let image = builder.input("image", [1, 3, 8, 8]);
    let (filter, bias) = (weight(&mut builder, &[8, 3, 3, 3], 1), weight(&mut builder, &[8], 2));
    let same = || Attributes::new().ints("pads", &[1; 4]);
    let map = builder.node_with("Conv", &[&image, &filter, &bias], same());
    let map = builder.node("Relu", &[&map]);
    let (narrow, wide) = (weight(&mut builder, &[4, 8, 1, 1], 3), weight(&mut builder, &[6, 8, 3, 3], 4));
    let left = builder.node("Conv", &[&map, &narrow]);
    let right = builder.node_with("Conv", &[&map, &wide], same());
    let map = builder.node_with("Concat", &[&left, &right], Attributes::new().int("axis", 1));
    let map = builder.node("GlobalAveragePool", &[&map]);
    let row = builder.node("Flatten", &[&map]);
    let (matrix, bias) = (weight(&mut builder, &[10, 5], 5), weight(&mut builder, &[5], 6));
    let result = builder.node("Gemm", &[&row, &matrix, &bias]);
    builder.output(&result);
    of_suite(builder.build())
}
