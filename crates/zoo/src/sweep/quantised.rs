//! Small networks of quantised operators: convolutions of all kinds, matrix products, sums, and both ways to quantise.

use crate::layers::{Activation, Conv, Layers, Map};
use crate::quantised::QuantisedMap;

/// From an image to scores, wider with each turn.
pub(super) fn build(layers: &mut Layers, turn: usize) {
    let width = [32, 48, 64, 96, 128][turn % 5];
    let size = [112, 56, 80, 28][turn % 4];
    let image = layers.image(3, 2 * size);
    let image = layers.quantised(&image);
    let mut map = layers.quantised_conv(&image, Conv::new(width, [3, 5, 7][turn % 3]).stride(2));
    for step in 1..4 {
        map = residual(layers, &map, width << step);
        map = separable(layers, &map, width << step, 1 + step % 2);
        map = layers.quantised_max_pool(&map, 2, 2, 0);
    }
    map = layers.quantised_product(&map, 2 * width);
    let scores = layers.quantised_classifier(&map, 1000);
    layers.output(&scores);
    dynamic(layers, width, turn);
}

fn residual(layers: &mut Layers, map: &QuantisedMap, filters: usize) -> QuantisedMap {
    let map = layers.quantised_conv(map, Conv::new(filters, 1));
    let inner = layers.quantised_conv(&map, Conv::new(filters / 2, 1));
    let inner = layers.quantised_conv(&inner, Conv::new(filters / 2, 3));
    let inner = layers.quantised_conv(&inner, Conv::new(filters, 1).activation(Activation::None));
    layers.quantised_add(&map, &inner, Activation::Relu)
}

fn separable(layers: &mut Layers, map: &QuantisedMap, filters: usize, stride: usize) -> QuantisedMap {
    let depthwise = Conv::new(map.channels(), 3).stride(stride).groups(map.channels()).activation(Activation::Relu6);
    let map = layers.quantised_conv(map, depthwise);
    layers.quantised_conv(&map, Conv::new(filters, 1).activation(Activation::None))
}

/// Convolutions and products of integers whose scale is found in them, on an input of their own.
fn dynamic(layers: &mut Layers, width: usize, turn: usize) {
    let size = [28, 14][turn % 2];
    let name = layers.builder.input("features", [1, width, size, size]);
    let map = Map { name, channels: width, size: [size; 2] };
    let map = layers.dynamic_conv(&map, Conv::new(2 * width, 3));
    let map = layers.dynamic_conv(&map, Conv::new(4 * width, 1));
    let tokens = layers.positions(&map);
    let value = layers.dynamic_quantised(&tokens.name);
    let wide = layers.dynamic_product(&value, 4 * width, 8 * width);
    let wide = layers.dynamic_quantised(&wide);
    let narrow = layers.dynamic_product(&wide, 8 * width, 4 * width);
    layers.builder.output(&narrow);
}
