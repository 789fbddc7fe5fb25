//! YOLOv3 up to its three feature maps (416 x 416, 80 classes); decoding the boxes is not part of the network.

use crate::layers::{Activation, Conv, Layers, Map};

/// Three boxes per cell, each with four coordinates, a confidence and 80 class scores.
const PREDICTIONS: usize = 3 * (4 + 1 + 80);

fn conv(filters: usize, kernel: usize) -> Conv {
    Conv::new(filters, kernel).batch_norm().activation(Activation::LeakyRelu)
}

pub(crate) fn v3(layers: &mut Layers) {
    let image = layers.image(3, 416);
    let mut map = layers.conv(&image, conv(32, 3));
    let mut scales = Vec::new();
    for (filters, blocks) in [(64, 1), (128, 2), (256, 8), (512, 8), (1024, 4)] {
        map = layers.conv(&map, conv(filters, 3).stride(2));
        for _ in 0..blocks {
            let hidden = layers.conv(&map, conv(filters / 2, 1));
            let hidden = layers.conv(&hidden, conv(filters, 3));
            map = layers.add(&map, &hidden);
        }
        scales.push(map.clone());
    }
    let (neck, large) = head(layers, &map, 512);
    let medium_input = join(layers, &neck, 256, &scales[3]);
    let (neck, medium) = head(layers, &medium_input, 256);
    let small_input = join(layers, &neck, 128, &scales[2]);
    let (_, small) = head(layers, &small_input, 128);
    for result in [large, medium, small] {
        layers.output(&result);
    }
}

/// Five alternating convolutions, from which both the next scale and this scale's predictions start.
fn head(layers: &mut Layers, input: &Map, filters: usize) -> (Map, Map) {
    let mut map = layers.conv(input, conv(filters, 1));
    for _ in 0..2 {
        map = layers.conv(&map, conv(2 * filters, 3));
        map = layers.conv(&map, conv(filters, 1));
    }
    let wide = layers.conv(&map, conv(2 * filters, 3));
    let predictions = layers.conv(&wide, Conv::new(PREDICTIONS, 1).activation(Activation::None));
    (map, predictions)
}

fn join(layers: &mut Layers, neck: &Map, filters: usize, backbone: &Map) -> Map {
    let map = layers.conv(neck, conv(filters, 1));
    let map = layers.upsample(&map);
    layers.concat(&[map, backbone.clone()])
}
