//! MobileNet v1 and v2, width 1.0, 224 x 224, and v2 quantised to 8 bits.

use crate::layers::{Activation, Conv, Layers, Map};
use crate::quantised::QuantisedMap;

/// Expansion factor, filters, repetitions, stride of the first (table 2 of the paper).
const V2_GROUPS: [(usize, usize, usize, usize); 7] =
    [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)];

pub(crate) fn v1(layers: &mut Layers) {
    let image = layers.image(3, 224);
    let mut map = layers.conv(&image, Conv::new(32, 3).stride(2).batch_norm());
    let blocks = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)];
    let deep = [(512, 1); 5];
    for (filters, stride) in blocks.into_iter().chain(deep).chain([(1024, 2), (1024, 1)]) {
        map = layers.conv(&map, Conv::new(map.channels, 3).stride(stride).groups(map.channels).batch_norm());
        map = layers.conv(&map, Conv::new(filters, 1).batch_norm());
    }
    classify(layers, &map);
}

pub(crate) fn v2(layers: &mut Layers) {
    let image = layers.image(3, 224);
    let stem = Conv::new(32, 3).stride(2).batch_norm().activation(Activation::Relu6);
    let mut map = layers.conv(&image, stem);
    for (expansion, filters, repetitions, stride) in V2_GROUPS {
        for repetition in 0..repetitions {
            map = inverted_residual(layers, &map, expansion, filters, if repetition == 0 { stride } else { 1 });
        }
    }
    let map = layers.conv(&map, Conv::new(1280, 1).batch_norm().activation(Activation::Relu6));
    classify(layers, &map);
}

fn inverted_residual(layers: &mut Layers, input: &Map, expansion: usize, filters: usize, stride: usize) -> Map {
    let hidden = input.channels * expansion;
    let mut map = input.clone();
    if expansion > 1 {
        map = layers.conv(&map, Conv::new(hidden, 1).batch_norm().activation(Activation::Relu6));
    }
    let depthwise = Conv::new(hidden, 3).stride(stride).groups(hidden).batch_norm().activation(Activation::Relu6);
    map = layers.conv(&map, depthwise);
    map = layers.conv(&map, Conv::new(filters, 1).batch_norm().activation(Activation::None));
    if stride == 1 && input.channels == filters { layers.add(input, &map) } else { map }
}

fn classify(layers: &mut Layers, map: &Map) {
    let map = layers.global_average_pool(map);
    let map = layers.flatten(&map);
    let map = layers.fully_connected(&map, 1000, Activation::None);
    let map = layers.softmax(&map);
    layers.output(&map);
}

pub(crate) fn v2_int8(layers: &mut Layers) {
    let image = layers.image(3, 224);
    let image = layers.quantised(&image);
    let mut map = layers.quantised_conv(&image, Conv::new(32, 3).stride(2).activation(Activation::Relu6));
    for (expansion, filters, repetitions, stride) in V2_GROUPS {
        for repetition in 0..repetitions {
            map = quantised_residual(layers, &map, expansion, filters, if repetition == 0 { stride } else { 1 });
        }
    }
    let map = layers.quantised_conv(&map, Conv::new(1280, 1).activation(Activation::Relu6));
    let scores = layers.quantised_classifier(&map, 1000);
    layers.output(&scores);
}

fn quantised_residual(
    layers: &mut Layers,
    input: &QuantisedMap,
    expansion: usize,
    filters: usize,
    stride: usize,
) -> QuantisedMap {
    let hidden = input.channels() * expansion;
    let mut map = input.clone();
    if expansion > 1 {
        map = layers.quantised_conv(&map, Conv::new(hidden, 1).activation(Activation::Relu6));
    }
    let depthwise = Conv::new(hidden, 3).stride(stride).groups(hidden).activation(Activation::Relu6);
    map = layers.quantised_conv(&map, depthwise);
    map = layers.quantised_conv(&map, Conv::new(filters, 1).activation(Activation::None));
    if stride == 1 && input.channels() == filters { layers.quantised_add(input, &map, Activation::None) } else { map }
}
