//! SqueezeNet 1.0.

use crate::layers::{Conv, Layers, Map};

pub(crate) fn build(layers: &mut Layers) {
    let image = layers.image(3, 224);
    let map = layers.conv(&image, Conv::new(96, 7).stride(2).padding(0));
    let map = layers.max_pool_ceil(&map, 3, 2);
    let map = fire(layers, &map, 16, 64);
    let map = fire(layers, &map, 16, 64);
    let map = fire(layers, &map, 32, 128);
    let map = layers.max_pool_ceil(&map, 3, 2);
    let map = fire(layers, &map, 32, 128);
    let map = fire(layers, &map, 48, 192);
    let map = fire(layers, &map, 48, 192);
    let map = fire(layers, &map, 64, 256);
    let map = layers.max_pool_ceil(&map, 3, 2);
    let map = fire(layers, &map, 64, 256);
    let map = layers.conv(&map, Conv::new(1000, 1));
    let map = layers.global_average_pool(&map);
    let map = layers.flatten(&map);
    let map = layers.softmax(&map);
    layers.output(&map);
}

/// Squeeze to few channels, then expand with 1x1 and 3x3 filters side by side.
fn fire(layers: &mut Layers, input: &Map, squeeze: usize, expand: usize) -> Map {
    let squeezed = layers.conv(input, Conv::new(squeeze, 1));
    let small = layers.conv(&squeezed, Conv::new(expand, 1));
    let large = layers.conv(&squeezed, Conv::new(expand, 3));
    layers.concat(&[small, large])
}
