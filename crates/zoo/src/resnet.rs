//! ResNet-50 (version 1, stride in the first 1x1 convolution of a block, as the paper has it), and quantised to 8 bits.

use crate::layers::{Activation, Conv, Layers, Map};
use crate::quantised::QuantisedMap;

pub(crate) fn resnet50(layers: &mut Layers) {
    let image = layers.image(3, 224);
    let map = layers.conv(&image, Conv::new(64, 7).stride(2).batch_norm());
    let mut map = layers.max_pool(&map, 3, 2, 1);
    for (blocks, filters, stride) in [(3, 64, 1), (4, 128, 2), (6, 256, 2), (3, 512, 2)] {
        for block in 0..blocks {
            map = bottleneck(layers, &map, filters, if block == 0 { stride } else { 1 });
        }
    }
    let map = layers.global_average_pool(&map);
    let map = layers.flatten(&map);
    let map = layers.fully_connected(&map, 1000, Activation::None);
    let map = layers.softmax(&map);
    layers.output(&map);
}

fn bottleneck(layers: &mut Layers, input: &Map, filters: usize, stride: usize) -> Map {
    let linear = |filters: usize| Conv::new(filters, 1).batch_norm().activation(Activation::None);
    let map = layers.conv(input, Conv::new(filters, 1).stride(stride).batch_norm());
    let map = layers.conv(&map, Conv::new(filters, 3).batch_norm());
    let map = layers.conv(&map, linear(4 * filters));
    let shortcut = if input.channels == 4 * filters && stride == 1 {
        input.clone()
    } else {
        layers.conv(input, linear(4 * filters).stride(stride))
    };
    let sum = layers.add(&map, &shortcut);
    layers.relu(&sum)
}

pub(crate) fn resnet50_int8(layers: &mut Layers) {
    let image = layers.image(3, 224);
    let image = layers.quantised(&image);
    let map = layers.quantised_conv(&image, Conv::new(64, 7).stride(2));
    let mut map = layers.quantised_max_pool(&map, 3, 2, 1);
    for (blocks, filters, stride) in [(3, 64, 1), (4, 128, 2), (6, 256, 2), (3, 512, 2)] {
        for block in 0..blocks {
            map = quantised_bottleneck(layers, &map, filters, if block == 0 { stride } else { 1 });
        }
    }
    let scores = layers.quantised_classifier(&map, 1000);
    layers.output(&scores);
}

fn quantised_bottleneck(layers: &mut Layers, input: &QuantisedMap, filters: usize, stride: usize) -> QuantisedMap {
    let linear = |filters: usize| Conv::new(filters, 1).activation(Activation::None);
    let map = layers.quantised_conv(input, Conv::new(filters, 1).stride(stride));
    let map = layers.quantised_conv(&map, Conv::new(filters, 3));
    let map = layers.quantised_conv(&map, linear(4 * filters));
    let shortcut = if input.channels() == 4 * filters && stride == 1 {
        input.clone()
    } else {
        layers.quantised_conv(input, linear(4 * filters).stride(stride))
    };
    layers.quantised_add(&map, &shortcut, Activation::Relu)
}
