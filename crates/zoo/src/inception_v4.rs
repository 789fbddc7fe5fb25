//! Inception-v4, 299 x 299.

use crate::inception::{chain, conv, valid, wide};
use crate::layers::{Activation, Layers, Map};

pub(crate) fn build(layers: &mut Layers) {
    let image = layers.image(3, 299);
    let mut map = stem(layers, &image);
    for _ in 0..4 {
        map = module_a(layers, &map);
    }
    map = reduction_a(layers, &map, [192, 224, 256, 384]);
    for _ in 0..7 {
        map = module_b(layers, &map);
    }
    map = reduction_b(layers, &map);
    for _ in 0..3 {
        map = module_c(layers, &map);
    }
    let map = layers.global_average_pool(&map);
    let map = layers.flatten(&map);
    let map = layers.fully_connected(&map, 1000, Activation::None);
    let map = layers.softmax(&map);
    layers.output(&map);
}

/// Figure 3 of the paper.
fn stem(layers: &mut Layers, image: &Map) -> Map {
    let map = layers.conv(image, valid(32, 3).stride(2));
    let map = layers.conv(&map, valid(32, 3));
    let map = layers.conv(&map, conv(64, 3));
    let pooled = layers.max_pool(&map, 3, 2, 0);
    let strided = layers.conv(&map, valid(96, 3).stride(2));
    let map = layers.concat(&[pooled, strided]);
    let short = chain(layers, &map, &[conv(64, 1), valid(96, 3)]);
    let long = chain(layers, &map, &[conv(64, 1), wide(64, 7, 1), wide(64, 1, 7), valid(96, 3)]);
    let map = layers.concat(&[short, long]);
    let strided = layers.conv(&map, valid(192, 3).stride(2));
    let pooled = layers.max_pool(&map, 3, 2, 0);
    layers.concat(&[strided, pooled])
}

fn module_a(layers: &mut Layers, input: &Map) -> Map {
    let pooled = layers.average_pool(input, 3, 1, 1);
    let first = layers.conv(&pooled, conv(96, 1));
    let second = layers.conv(input, conv(96, 1));
    let third = chain(layers, input, &[conv(64, 1), conv(96, 3)]);
    let fourth = chain(layers, input, &[conv(64, 1), conv(96, 3), conv(96, 3)]);
    layers.concat(&[first, second, third, fourth])
}

/// From 35 x 35 to 17 x 17; the filters are k, l, m and n of the paper's table 1.
pub(crate) fn reduction_a(layers: &mut Layers, input: &Map, [k, l, m, n]: [usize; 4]) -> Map {
    let first = layers.max_pool(input, 3, 2, 0);
    let second = layers.conv(input, valid(n, 3).stride(2));
    let third = chain(layers, input, &[conv(k, 1), conv(l, 3), valid(m, 3).stride(2)]);
    layers.concat(&[first, second, third])
}

fn module_b(layers: &mut Layers, input: &Map) -> Map {
    let pooled = layers.average_pool(input, 3, 1, 1);
    let first = layers.conv(&pooled, conv(128, 1));
    let second = layers.conv(input, conv(384, 1));
    let third = chain(layers, input, &[conv(192, 1), wide(224, 1, 7), wide(256, 7, 1)]);
    let fourth = [conv(192, 1), wide(192, 1, 7), wide(224, 7, 1), wide(224, 1, 7), wide(256, 7, 1)];
    let fourth = chain(layers, input, &fourth);
    layers.concat(&[first, second, third, fourth])
}

fn reduction_b(layers: &mut Layers, input: &Map) -> Map {
    let first = layers.max_pool(input, 3, 2, 0);
    let second = chain(layers, input, &[conv(192, 1), valid(192, 3).stride(2)]);
    let third = [conv(256, 1), wide(256, 1, 7), wide(320, 7, 1), valid(320, 3).stride(2)];
    let third = chain(layers, input, &third);
    layers.concat(&[first, second, third])
}

fn module_c(layers: &mut Layers, input: &Map) -> Map {
    let pooled = layers.average_pool(input, 3, 1, 1);
    let first = layers.conv(&pooled, conv(256, 1));
    let second = layers.conv(input, conv(256, 1));
    let third = layers.conv(input, conv(384, 1));
    let third = [layers.conv(&third, wide(256, 1, 3)), layers.conv(&third, wide(256, 3, 1))];
    let fourth = chain(layers, input, &[conv(384, 1), wide(448, 1, 3), wide(512, 3, 1)]);
    let fourth = [layers.conv(&fourth, wide(256, 3, 1)), layers.conv(&fourth, wide(256, 1, 3))];
    let [third_left, third_right] = third;
    let [fourth_left, fourth_right] = fourth;
    layers.concat(&[first, second, third_left, third_right, fourth_left, fourth_right])
}
