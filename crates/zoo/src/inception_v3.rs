//! Inception-v3, 299 x 299, without the auxiliary classifier.

use crate::inception::{chain, conv, wide};
use crate::layers::{Activation, Layers, Map};

pub(crate) fn build(layers: &mut Layers) {
    let image = layers.image(3, 299);
    let map = layers.conv(&image, conv(32, 3).stride(2).padding(0));
    let map = layers.conv(&map, conv(32, 3).padding(0));
    let map = layers.conv(&map, conv(64, 3));
    let map = layers.max_pool(&map, 3, 2, 0);
    let map = layers.conv(&map, conv(80, 1));
    let map = layers.conv(&map, conv(192, 3).padding(0));
    let mut map = layers.max_pool(&map, 3, 2, 0);
    for projection in [32, 64, 64] {
        map = module_a(layers, &map, projection);
    }
    map = reduction_b(layers, &map);
    for narrow in [128, 160, 160, 192] {
        map = module_c(layers, &map, narrow);
    }
    map = reduction_d(layers, &map);
    for _ in 0..2 {
        map = module_e(layers, &map);
    }
    let map = layers.global_average_pool(&map);
    let map = layers.flatten(&map);
    let map = layers.fully_connected(&map, 1000, Activation::None);
    let map = layers.softmax(&map);
    layers.output(&map);
}

fn module_a(layers: &mut Layers, input: &Map, projection: usize) -> Map {
    let first = layers.conv(input, conv(64, 1));
    let second = chain(layers, input, &[conv(48, 1), conv(64, 5)]);
    let third = chain(layers, input, &[conv(64, 1), conv(96, 3), conv(96, 3)]);
    let pooled = layers.average_pool(input, 3, 1, 1);
    let fourth = layers.conv(&pooled, conv(projection, 1));
    layers.concat(&[first, second, third, fourth])
}

fn reduction_b(layers: &mut Layers, input: &Map) -> Map {
    let first = layers.conv(input, conv(384, 3).stride(2).padding(0));
    let second = chain(layers, input, &[conv(64, 1), conv(96, 3), conv(96, 3).stride(2).padding(0)]);
    let third = layers.max_pool(input, 3, 2, 0);
    layers.concat(&[first, second, third])
}

fn module_c(layers: &mut Layers, input: &Map, narrow: usize) -> Map {
    let first = layers.conv(input, conv(192, 1));
    let second = chain(layers, input, &[conv(narrow, 1), wide(narrow, 1, 7), wide(192, 7, 1)]);
    let third = chain(
        layers,
        input,
        &[conv(narrow, 1), wide(narrow, 7, 1), wide(narrow, 1, 7), wide(narrow, 7, 1), wide(192, 1, 7)],
    );
    let pooled = layers.average_pool(input, 3, 1, 1);
    let fourth = layers.conv(&pooled, conv(192, 1));
    layers.concat(&[first, second, third, fourth])
}

fn reduction_d(layers: &mut Layers, input: &Map) -> Map {
    let first = chain(layers, input, &[conv(192, 1), conv(320, 3).stride(2).padding(0)]);
    let second = [conv(192, 1), wide(192, 1, 7), wide(192, 7, 1), conv(192, 3).stride(2).padding(0)];
    let second = chain(layers, input, &second);
    let third = layers.max_pool(input, 3, 2, 0);
    layers.concat(&[first, second, third])
}

fn module_e(layers: &mut Layers, input: &Map) -> Map {
    let first = layers.conv(input, conv(320, 1));
    let second = layers.conv(input, conv(384, 1));
    let second = fork(layers, &second);
    let third = chain(layers, input, &[conv(448, 1), conv(384, 3)]);
    let third = fork(layers, &third);
    let pooled = layers.average_pool(input, 3, 1, 1);
    let fourth = layers.conv(&pooled, conv(192, 1));
    layers.concat(&[first, second, third, fourth])
}

fn fork(layers: &mut Layers, input: &Map) -> Map {
    let left = layers.conv(input, wide(384, 1, 3));
    let right = layers.conv(input, wide(384, 3, 1));
    layers.concat(&[left, right])
}
