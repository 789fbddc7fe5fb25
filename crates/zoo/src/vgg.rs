//! VGG: blocks of 3x3 convolutions (configurations D and E).

use crate::layers::{Activation, Conv, Layers};

pub(crate) fn vgg16(layers: &mut Layers) {
    build(layers, [2, 2, 3, 3, 3]);
}

pub(crate) fn vgg19(layers: &mut Layers) {
    build(layers, [2, 2, 4, 4, 4]);
}

fn build(layers: &mut Layers, depths: [usize; 5]) {
    let mut map = layers.image(3, 224);
    for (depth, filters) in depths.into_iter().zip([64, 128, 256, 512, 512]) {
        for _ in 0..depth {
            map = layers.conv(&map, Conv::new(filters, 3));
        }
        map = layers.max_pool(&map, 2, 2, 0);
    }
    let map = layers.flatten(&map);
    let map = layers.fully_connected(&map, 4096, Activation::Relu);
    let map = layers.fully_connected(&map, 4096, Activation::Relu);
    let map = layers.fully_connected(&map, 1000, Activation::None);
    let map = layers.softmax(&map);
    layers.output(&map);
}
