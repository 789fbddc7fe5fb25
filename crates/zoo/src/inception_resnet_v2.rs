//! Inception-ResNet-v2, 299 x 299, with the stem of its published implementation (a plain chain and one Inception
//! module).

use crate::inception::{chain, conv, valid, wide};
use crate::inception_v4::reduction_a;
use crate::layers::{Activation, Conv, Layers, Map};

pub(crate) fn build(layers: &mut Layers) {
    let image = layers.image(3, 299);
    let map = chain(layers, &image, &[valid(32, 3).stride(2), valid(32, 3), conv(64, 3)]);
    let map = layers.max_pool(&map, 3, 2, 0);
    let map = chain(layers, &map, &[valid(80, 1), valid(192, 3)]);
    let map = layers.max_pool(&map, 3, 2, 0);
    let mut map = first_module(layers, &map);
    for _ in 0..10 {
        map = block_35(layers, &map);
    }
    map = reduction_a(layers, &map, [256, 256, 384, 384]);
    for _ in 0..20 {
        map = block_17(layers, &map);
    }
    map = reduction_b(layers, &map);
    for index in 0..10 {
        map = block_8(layers, &map, index < 9);
    }
    let map = layers.conv(&map, conv(1536, 1));
    let map = layers.global_average_pool(&map);
    let map = layers.flatten(&map);
    let map = layers.fully_connected(&map, 1000, Activation::None);
    let map = layers.softmax(&map);
    layers.output(&map);
}

fn first_module(layers: &mut Layers, input: &Map) -> Map {
    let first = layers.conv(input, conv(96, 1));
    let second = chain(layers, input, &[conv(48, 1), conv(64, 5)]);
    let third = chain(layers, input, &[conv(64, 1), conv(96, 3), conv(96, 3)]);
    let pooled = layers.average_pool(input, 3, 1, 1);
    let fourth = layers.conv(&pooled, conv(64, 1));
    layers.concat(&[first, second, third, fourth])
}

/// Branches, joined and brought back to the input's channels, are added to the input.
fn residual(layers: &mut Layers, input: &Map, branches: &[Map], is_activated: bool) -> Map {
    let joined = layers.concat(branches);
    let linear = Conv::new(input.channels, 1).activation(Activation::None);
    let back = layers.conv(&joined, linear);
    let sum = layers.add(input, &back);
    if is_activated { layers.relu(&sum) } else { sum }
}

fn block_35(layers: &mut Layers, input: &Map) -> Map {
    let first = layers.conv(input, conv(32, 1));
    let second = chain(layers, input, &[conv(32, 1), conv(32, 3)]);
    let third = chain(layers, input, &[conv(32, 1), conv(48, 3), conv(64, 3)]);
    residual(layers, input, &[first, second, third], true)
}

fn block_17(layers: &mut Layers, input: &Map) -> Map {
    let first = layers.conv(input, conv(192, 1));
    let second = chain(layers, input, &[conv(128, 1), wide(160, 1, 7), wide(192, 7, 1)]);
    residual(layers, input, &[first, second], true)
}

fn reduction_b(layers: &mut Layers, input: &Map) -> Map {
    let first = chain(layers, input, &[conv(256, 1), valid(384, 3).stride(2)]);
    let second = chain(layers, input, &[conv(256, 1), valid(288, 3).stride(2)]);
    let third = chain(layers, input, &[conv(256, 1), conv(288, 3), valid(320, 3).stride(2)]);
    let fourth = layers.max_pool(input, 3, 2, 0);
    layers.concat(&[first, second, third, fourth])
}

fn block_8(layers: &mut Layers, input: &Map, is_activated: bool) -> Map {
    let first = layers.conv(input, conv(192, 1));
    let second = chain(layers, input, &[conv(192, 1), wide(224, 1, 3), wide(256, 3, 1)]);
    residual(layers, input, &[first, second], is_activated)
}
