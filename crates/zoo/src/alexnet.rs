//! AlexNet with its two-group convolutions (single-tower form of the Caffe reference model).

use crate::layers::{Activation, Conv, Layers};

pub(crate) fn build(layers: &mut Layers) {
    let image = layers.image(3, 227);
    let map = layers.conv(&image, Conv::new(96, 11).stride(4).padding(0));
    let map = layers.response_norm(&map);
    let map = layers.max_pool(&map, 3, 2, 0);
    let map = layers.conv(&map, Conv::new(256, 5).groups(2));
    let map = layers.response_norm(&map);
    let map = layers.max_pool(&map, 3, 2, 0);
    let map = layers.conv(&map, Conv::new(384, 3));
    let map = layers.conv(&map, Conv::new(384, 3).groups(2));
    let map = layers.conv(&map, Conv::new(256, 3).groups(2));
    let map = layers.max_pool(&map, 3, 2, 0);
    let map = layers.flatten(&map);
    let map = layers.fully_connected(&map, 4096, Activation::Relu);
    let map = layers.fully_connected(&map, 4096, Activation::Relu);
    let map = layers.fully_connected(&map, 1000, Activation::None);
    let map = layers.softmax(&map);
    layers.output(&map);
}
