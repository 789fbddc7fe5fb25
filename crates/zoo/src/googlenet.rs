//! GoogLeNet without the auxiliary classifiers, which only training uses.

use crate::layers::{Activation, Conv, Layers, Map};

/// Filters of an inception module: 1x1, 3x3 reduction, 3x3, 5x5 reduction, 5x5, pool projection (table 1 of the paper).
type Module = [usize; 6];

pub(crate) fn build(layers: &mut Layers) {
    let image = layers.image(3, 224);
    let map = layers.conv(&image, Conv::new(64, 7).stride(2));
    let map = layers.max_pool_ceil(&map, 3, 2);
    let map = layers.response_norm(&map);
    let map = layers.conv(&map, Conv::new(64, 1));
    let map = layers.conv(&map, Conv::new(192, 3));
    let map = layers.response_norm(&map);
    let map = layers.max_pool_ceil(&map, 3, 2);
    let map = inception(layers, &map, [64, 96, 128, 16, 32, 32]);
    let map = inception(layers, &map, [128, 128, 192, 32, 96, 64]);
    let map = layers.max_pool_ceil(&map, 3, 2);
    let map = inception(layers, &map, [192, 96, 208, 16, 48, 64]);
    let map = inception(layers, &map, [160, 112, 224, 24, 64, 64]);
    let map = inception(layers, &map, [128, 128, 256, 24, 64, 64]);
    let map = inception(layers, &map, [112, 144, 288, 32, 64, 64]);
    let map = inception(layers, &map, [256, 160, 320, 32, 128, 128]);
    let map = layers.max_pool_ceil(&map, 3, 2);
    let map = inception(layers, &map, [256, 160, 320, 32, 128, 128]);
    let map = inception(layers, &map, [384, 192, 384, 48, 128, 128]);
    let map = layers.global_average_pool(&map);
    let map = layers.flatten(&map);
    let map = layers.fully_connected(&map, 1000, Activation::None);
    let map = layers.softmax(&map);
    layers.output(&map);
}

fn inception(layers: &mut Layers, input: &Map, filters: Module) -> Map {
    let [direct, reduce_3, filters_3, reduce_5, filters_5, projection] = filters;
    let first = layers.conv(input, Conv::new(direct, 1));
    let second = layers.conv(input, Conv::new(reduce_3, 1));
    let second = layers.conv(&second, Conv::new(filters_3, 3));
    let third = layers.conv(input, Conv::new(reduce_5, 1));
    let third = layers.conv(&third, Conv::new(filters_5, 5));
    let fourth = layers.max_pool(input, 3, 1, 1);
    let fourth = layers.conv(&fourth, Conv::new(projection, 1));
    layers.concat(&[first, second, third, fourth])
}
