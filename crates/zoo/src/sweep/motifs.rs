//! What else networks consist of: combinations of operators that keep the size of the map.

use crate::layers::{Activation, Conv, Layers, Map};

/// One of the motifs, by turns. The channels may change, but stay at most 256.
pub(super) fn motif(layers: &mut Layers, map: &Map, turn: usize) -> Map {
    match turn % 10 {
        0 => residual(layers, map),
        1 => branches(layers, map),
        2 => depthwise(layers, map, 3),
        3 => asymmetric(layers, map),
        4 => grouped(layers, map),
        5 => swish(layers, map),
        6 if map.size[0] <= 28 => attention(layers, map),
        6 | 7 => depthwise(layers, map, 5),
        8 => normalised(layers, map),
        _ => pyramid(layers, map),
    }
}

/// A bottleneck with a shortcut (ResNet).
fn residual(layers: &mut Layers, map: &Map) -> Map {
    let inner = layers.conv(map, Conv::new(map.channels / 4 * 2, 1).batch_norm());
    let inner = layers.conv(&inner, Conv::new(map.channels / 4 * 2, 3).batch_norm());
    let inner = layers.conv(&inner, Conv::new(map.channels, 1).batch_norm().activation(Activation::None));
    let sum = layers.add(map, &inner);
    layers.relu(&sum)
}

/// Branches of several kernels side by side (Inception), and back to few channels.
fn branches(layers: &mut Layers, map: &Map) -> Map {
    let point = layers.conv(map, Conv::new(64, 1));
    let reduced = layers.conv(map, Conv::new(48, 1));
    let middle = layers.conv(&reduced, Conv::new(64, 3));
    let reduced = layers.conv(map, Conv::new(16, 1));
    let large = layers.conv(&reduced, Conv::new(32, 5));
    let pooled = layers.max_pool(map, 3, 1, 1);
    let pooled = layers.conv(&pooled, Conv::new(32, 1));
    let all = layers.concat(&[point, middle, large, pooled]);
    layers.conv(&all, Conv::new(128, 1))
}

/// Widen, filter each channel by itself, narrow (MobileNet v2).
fn depthwise(layers: &mut Layers, map: &Map, kernel: usize) -> Map {
    let narrow = layers.conv(map, Conv::new(64, 1).batch_norm().activation(Activation::None));
    let wide = layers.conv(&narrow, Conv::new(256, 1).batch_norm().activation(Activation::Relu6));
    let wide_filter = Conv::new(256, kernel).groups(256).batch_norm().activation(Activation::Relu6);
    let filtered = layers.conv(&wide, wide_filter);
    let inner = layers.conv(&filtered, Conv::new(64, 1).batch_norm().activation(Activation::None));
    let narrow_filter = Conv::new(64, 3).groups(64).batch_norm();
    let sum = layers.add(&narrow, &inner);
    layers.conv(&sum, narrow_filter)
}

/// Long kernels in both directions (Inception-v3).
fn asymmetric(layers: &mut Layers, map: &Map) -> Map {
    let reduced = layers.conv(map, Conv::new(96, 1).batch_norm());
    let wide = layers.conv(&reduced, Conv::new(96, 1).kernel(1, 7).batch_norm());
    let high = layers.conv(&wide, Conv::new(128, 1).kernel(7, 1).batch_norm());
    let across = layers.conv(&high, Conv::new(64, 1).kernel(1, 3).batch_norm());
    let down = layers.conv(&high, Conv::new(64, 1).kernel(3, 1).batch_norm());
    let pooled = layers.average_pool(&high, 3, 1, 1);
    let all = layers.concat(&[across, down, pooled]);
    layers.conv(&all, Conv::new(64, 1).activation(Activation::LeakyRelu))
}

/// Convolutions in groups (AlexNet, ResNeXt).
fn grouped(layers: &mut Layers, map: &Map) -> Map {
    let even = layers.conv(map, Conv::new(192, 1));
    let halves = layers.conv(&even, Conv::new(256, if map.size[0] > 30 { 3 } else { 5 }).groups(2));
    let many = layers.conv(&halves, Conv::new(256, 3).groups(32));
    let halves = layers.conv(&many, Conv::new(128, 3).groups(2));
    layers.conv(&halves, Conv::new(64, 1))
}

/// An activation that runtimes do not fuse into the convolution (EfficientNet, YOLO).
fn swish(layers: &mut Layers, map: &Map) -> Map {
    let convolved = layers.conv(map, Conv::new(128, 3).batch_norm().activation(Activation::None));
    let gated = layers.swish(&convolved);
    let sum = layers.conv(&gated, Conv::new(128, 1).batch_norm().activation(Activation::LeakyRelu));
    layers.add(&gated, &sum)
}

/// Self-attention over the positions of the map, and back.
fn attention(layers: &mut Layers, map: &Map) -> Map {
    let reduced = layers.conv(map, Conv::new(128, 1));
    layers.attention(&reduced, 4)
}

/// Normalisations that stand by themselves (AlexNet, DenseNet).
fn normalised(layers: &mut Layers, map: &Map) -> Map {
    let normalised = layers.response_norm(map);
    let small = layers.conv(&normalised, Conv::new(32, 3));
    let dense = layers.concat(&[normalised, small]);
    let dense = layers.batch_norm_relu(&dense);
    layers.conv(&dense, Conv::new(128, 1))
}

/// Down and up again (feature pyramids).
fn pyramid(layers: &mut Layers, map: &Map) -> Map {
    if map.size[0] % 2 == 1 {
        let pooled = layers.max_pool(map, 5, 1, 2);
        let all = layers.concat(&[pooled, map.clone()]);
        return layers.conv(&all, Conv::new(64, 1));
    }
    let small = layers.max_pool(map, 2, 2, 0);
    let small = layers.conv(&small, Conv::new(64, 3));
    let large = layers.upsample(&small);
    let side = layers.conv(map, Conv::new(64, 1));
    let all = layers.concat(&[large, side]);
    layers.conv(&all, Conv::new(92, 1))
}
