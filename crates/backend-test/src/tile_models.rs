//! Models whose operators are divided by rows in all the ways there are.

use std::sync::Arc;

use millstream_onnx::{Attributes, Model, ModelBuilder, Weight};

use crate::models::weight;
use crate::rig::of_suite;

/// Windows with uneven padding, gaps, strides and rounded-up ends; a constant of its own for every row; joining, adding
/// up and enlarging.
pub(crate) fn maps() -> Result<Arc<Model>, String> {
    let mut builder = ModelBuilder::new("maps in rows");
    let image = builder.input("image", [2, 3, 23, 11]);
    let attributes = Attributes::new().ints("pads", &[2, 1, 0, 1]);
    let filter = weight(&mut builder, &[6, 3, 5, 3], 1);
    let map = builder.node_with("Conv", &[&image, &filter], attributes);
    let attributes = Attributes::new().ints("kernel_shape", &[3; 2]).ints("strides", &[2; 2]).int("ceil_mode", 1);
    let map = builder.node_with("MaxPool", &[&map], attributes);

    let (filter, bias) = (weight(&mut builder, &[6, 6, 3, 3], 2), weight(&mut builder, &[6], 3));
    let attributes = Attributes::new().ints("dilations", &[2, 1]).ints("pads", &[2, 1, 2, 1]);
    let map = builder.node_with("Conv", &[&map, &filter, &bias], attributes);
    let attributes = Attributes::new().ints("kernel_shape", &[2; 2]).text("auto_pad", "SAME_LOWER");
    let map = builder.node_with("AveragePool", &[&map], attributes);
    let attributes = Attributes::new().int("size", 3).float("alpha", 0.5).float("beta", 0.75).float("bias", 2.0);
    let map = builder.node_with("LRN", &[&map], attributes);
    let filter = weight(&mut builder, &[6, 1, 4, 4], 4);
    let attributes = Attributes::new().int("group", 6).text("auto_pad", "SAME_UPPER");
    let trunk = builder.node_with("Conv", &[&map, &filter], attributes);

    let rows = weight(&mut builder, &[11, 1], 5);
    let scaled = builder.node("Mul", &[&trunk, &rows]);
    let slopes = weight(&mut builder, &[6, 11, 1], 6);
    let map = builder.node("PRelu", &[&scaled, &slopes]);
    let [scale, shift, mean] = [7, 8, 9].map(|seed| weight(&mut builder, &[6], seed));
    let variance = builder.weight("variance", &Weight::from_f32([6], (1..=6).map(|value| value as f32).collect()));
    let map = builder.node("BatchNormalization", &[&map, &scale, &shift, &mean, &variance]);

    let attributes = Attributes::new().ints("kernel_shape", &[3; 2]).ints("pads", &[1; 4]).int("count_include_pad", 1);
    let map = builder.node_with("AveragePool", &[&map], attributes);
    let attributes = Attributes::new().ints("kernel_shape", &[3; 2]).ints("pads", &[1; 4]);
    let map = builder.node_with("LpPool", &[&map], attributes);
    let map = builder.node("Add", &[&map, &trunk]);
    let map = builder.node_with("Concat", &[&map, &scaled], Attributes::new().int("axis", 1));

    let scales = builder.weight("scales", &Weight::from_f32([4], vec![1.0, 1.0, 2.0, 2.0]));
    let attributes = Attributes::new()
        .text("mode", "nearest")
        .text("coordinate_transformation_mode", "asymmetric")
        .text("nearest_mode", "floor");
    let map = builder.node_with("Resize", &[&map, "", &scales], attributes);
    let attributes = Attributes::new().ints("kernel_shape", &[3; 2]).ints("strides", &[4; 2]).int("ceil_mode", 1);
    let map = builder.node_with("AveragePool", &[&map], attributes);
    builder.output(&map);
    of_suite(builder.build())
}

/// Windows that reach beyond the last row, where sizes are rounded up: the last tile has fewer rows than they have.
pub(crate) fn ends() -> Result<Arc<Model>, String> {
    let mut builder = ModelBuilder::new("rounded-up ends in rows");
    let map = builder.input("image", [1, 2, 8, 8]);
    let window = || Attributes::new().ints("kernel_shape", &[3; 2]).ints("strides", &[2; 2]).int("ceil_mode", 1);
    let map = builder.node_with("MaxPool", &[&map], window());
    let map = builder.node_with("AveragePool", &[&map], window());
    builder.output(&map);
    of_suite(builder.build())
}

/// What a transformer does to every token by itself.
pub(crate) fn sequences() -> Result<Arc<Model>, String> {
    let mut builder = ModelBuilder::new("sequences in rows");
    let tokens = builder.input("tokens", [1, 9, 8]);
    let places = weight(&mut builder, &[1, 9, 8], 1);
    let sum = builder.node("Add", &[&tokens, &places]);
    let [scale, shift] = [2, 3].map(|seed| weight(&mut builder, &[8], seed));
    let own_tokens =
        builder.node_with("LayerNormalization", &[&sum, &scale, &shift], Attributes::new().int("axis", -1));
    // As many rows as there are tokens, which must not be taken for them.
    let (matrix, bias) = (weight(&mut builder, &[8, 9], 4), weight(&mut builder, &[9], 5));
    let hidden = builder.node("MatMul", &[&own_tokens, &matrix]);
    let hidden = builder.node("Add", &[&hidden, &bias]);
    let hidden = builder.node("Tanh", &[&hidden]);
    let matrix = weight(&mut builder, &[9, 8], 6);
    let back = builder.node("MatMul", &[&hidden, &matrix]);
    let sum = builder.node("Add", &[&back, &sum]);
    let result = builder.node_with("Softmax", &[&sum], Attributes::new().int("axis", -1));
    builder.output(&result);
    of_suite(builder.build())
}

/// A window along one dimension only.
pub(crate) fn lines() -> Result<Arc<Model>, String> {
    let mut builder = ModelBuilder::new("lines in rows");
    let line = builder.input("line", [1, 4, 14]);
    let filter = weight(&mut builder, &[5, 4, 3], 1);
    let attributes = Attributes::new().ints("pads", &[1, 1]).ints("strides", &[2]);
    let line = builder.node_with("Conv", &[&line, &filter], attributes);
    let line = builder.node("Sigmoid", &[&line]);
    let [scale, shift, mean] = [2, 3, 4].map(|seed| weight(&mut builder, &[5], seed));
    let variance = builder.weight("variance", &Weight::from_f32([5], (1..=5).map(|value| value as f32).collect()));
    let line = builder.node("BatchNormalization", &[&line, &scale, &shift, &mean, &variance]);
    let line = builder.node("Neg", &[&line]);
    let scales = builder.weight("scales", &Weight::from_f32([3], vec![1.0, 1.0, 3.0]));
    let attributes = Attributes::new().text("mode", "nearest");
    let line = builder.node_with("Resize", &[&line, "", &scales], attributes);
    let line = builder.node("Abs", &[&line]);
    builder.output(&line);
    of_suite(builder.build())
}

/// Enlarging between neighbours, by factors and to sizes.
pub(crate) fn enlarged() -> Result<Arc<Model>, String> {
    let mut builder = ModelBuilder::new("enlarged maps");
    let image = builder.input("image", [1, 2, 7, 9]);
    let scales = builder.weight("scales", &Weight::from_f32([4], vec![1.0, 1.0, 2.0, 4.0]));
    let attributes = Attributes::new().text("mode", "linear").text("coordinate_transformation_mode", "half_pixel");
    let map = builder.node_with("Resize", &[&image, "", &scales], attributes);
    let filter = weight(&mut builder, &[3, 2, 3, 3], 21);
    let map = builder.node_with("Conv", &[&map, &filter], Attributes::new().ints("pads", &[1; 4]));
    let sizes = builder.weight("sizes", &Weight::from_i64([4], &[1, 3, 28, 72]));
    let attributes = Attributes::new().text("mode", "cubic").text("coordinate_transformation_mode", "asymmetric");
    let map = builder.node_with("Resize", &[&map, "", "", &sizes], attributes);
    let map = builder.node("Relu", &[&map]);
    builder.output(&map);
    of_suite(builder.build())
}

/// A layer of attention: projections to queries, keys and values of several heads, a mask, and what joins the heads.
pub(crate) fn attention() -> Result<Arc<Model>, String> {
    let (tokens, heads, size) = (7, 3, 4);
    let features = heads * size;
    let mut builder = ModelBuilder::new("attention");
    let sequence = builder.input("sequence", [1, tokens, features]);
    let [scale, shift] = [31, 32].map(|seed| weight(&mut builder, &[features], seed));
    let normal =
        builder.node_with("LayerNormalization", &[&sequence, &scale, &shift], Attributes::new().int("axis", -1));
    let sizes = |builder: &mut ModelBuilder, name: &str, sizes: &[usize]| {
        let sizes: Vec<i64> = sizes.iter().map(|&size| size as i64).collect();
        builder.weight(name, &Weight::from_i64([sizes.len()], &sizes))
    };
    let apart = sizes(&mut builder, "apart", &[1, tokens, heads, size]);
    let together = sizes(&mut builder, "together", &[1, tokens, features]);

    // Keys are turned so that a product of rows and columns compares them.
    let [queries, keys, values] = [(33, [0, 2, 1, 3]), (35, [0, 2, 3, 1]), (37, [0, 2, 1, 3])].map(|(seed, order)| {
        let matrix = weight(&mut builder, &[features, features], seed);
        let bias = weight(&mut builder, &[features], seed + 1);
        let made = builder.node("MatMul", &[&normal, &matrix]);
        let made = builder.node("Add", &[&made, &bias]);
        let made = builder.node("Reshape", &[&made, &apart]);
        builder.node_with("Transpose", &[&made], Attributes::new().ints("perm", &order))
    });
    let scores = builder.node("MatMul", &[&queries, &keys]);
    let mask = weight(&mut builder, &[1, 1, tokens, tokens], 39);
    let scores = builder.node("Add", &[&scores, &mask]);
    let shares = builder.node_with("Softmax", &[&scores], Attributes::new().int("axis", -1));
    let made = builder.node("MatMul", &[&shares, &values]);
    let made = builder.node_with("Transpose", &[&made], Attributes::new().ints("perm", &[0, 2, 1, 3]));
    let made = builder.node("Reshape", &[&made, &together]);

    let matrix = weight(&mut builder, &[features, features], 40);
    let made = builder.node("MatMul", &[&made, &matrix]);
    let made = builder.node("Add", &[&made, &sequence]);
    builder.output(&made);
    of_suite(builder.build())
}
