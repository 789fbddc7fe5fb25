//! Tiny Darknet: 16 convolutions, 4 max-poolings, average pooling and softmax (co-scheduling paper, table 6).

use crate::layers::{Activation, Conv, Layers};

pub(crate) fn build(layers: &mut Layers) {
    let conv =
        |filters: usize, kernel: usize| Conv::new(filters, kernel).batch_norm().activation(Activation::LeakyRelu);
    let mut map = layers.image(3, 224);
    map = layers.conv(&map, conv(16, 3));
    map = layers.max_pool(&map, 2, 2, 0);
    map = layers.conv(&map, conv(32, 3));
    map = layers.max_pool(&map, 2, 2, 0);
    for (narrow, wide, pooled) in [(16, 128, true), (32, 256, true), (64, 512, false)] {
        for _ in 0..2 {
            map = layers.conv(&map, conv(narrow, 1));
            map = layers.conv(&map, conv(wide, 3));
        }
        if pooled {
            map = layers.max_pool(&map, 2, 2, 0);
        }
    }
    map = layers.conv(&map, conv(128, 1));
    map = layers.conv(&map, Conv::new(1000, 1).activation(Activation::None));
    map = layers.global_average_pool(&map);
    map = layers.flatten(&map);
    map = layers.softmax(&map);
    layers.output(&map);
}
