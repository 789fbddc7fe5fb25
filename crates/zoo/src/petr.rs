//! A network like PETR (Liu et al., ECCV 2022) in the size that Para-Pipe evaluates: ResNet-50, a position encoder, a
//! query generator and a transformer decoder, 337 operators. Keys and values are tied, and cross-attention has 16
//! heads.

use crate::layers::{Activation, Conv, Layers, Map};
use crate::tokens::Tokens;

const WIDTH: usize = 256;
const QUERIES: usize = 16;
const HEADS: usize = 16;

pub(crate) fn build(layers: &mut Layers) {
    let image = layers.image(3, 224);
    let features = trunk(layers, &image);
    let mut tokens = decoder(layers, &features);
    tokens = layers.feed_forward(&tokens, true);
    for _ in 0..2 {
        tokens = self_attention(layers, &tokens);
        tokens = layers.feed_forward(&tokens, true);
    }
    let detections = heads(layers, &tokens);
    layers.tokens_output(&detections);
}

/// ResNet-50 without normalisation and classifier: 119 operators, and a subgraph for its stem and for each block.
pub(crate) fn trunk(layers: &mut Layers, image: &Map) -> Map {
    let map = layers.conv(image, Conv::new(64, 7).stride(2));
    let mut map = layers.max_pool(&map, 3, 2, 1);
    for (blocks, filters, stride) in [(3, 64, 1), (4, 128, 2), (6, 256, 2), (3, 512, 2)] {
        for block in 0..blocks {
            map = bottleneck(layers, &map, filters, if block == 0 { stride } else { 1 });
        }
    }
    map
}

pub(crate) fn bottleneck(layers: &mut Layers, input: &Map, filters: usize, stride: usize) -> Map {
    let linear = Conv::new(4 * filters, 1).activation(Activation::None);
    let map = layers.conv(input, Conv::new(filters, 1).stride(stride));
    let map = layers.conv(&map, Conv::new(filters, 3));
    let map = layers.conv(&map, linear);
    let shortcut = if input.channels == 4 * filters && stride == 1 {
        input.clone()
    } else {
        layers.conv(input, linear.stride(stride))
    };
    let sum = layers.add(&map, &shortcut);
    layers.relu(&sum)
}

/// Position encoder, query generator and cross-attention, which all read the features: one subgraph of 169 operators.
fn decoder(layers: &mut Layers, features: &Map) -> Tokens {
    let pooled = layers.global_average_pool(features);
    let vector = layers.flatten(&pooled);
    let vector = layers.fully_connected(&vector, 512, Activation::Relu);
    let vector = layers.fully_connected(&vector, 512, Activation::Relu);
    let vector = layers.fully_connected(&vector, QUERIES * WIDTH, Activation::None);
    let queries = layers.cut(&vector, QUERIES);
    let projected = layers.conv(features, Conv::new(WIDTH, 1));
    let summary = layers.mean(&queries);
    let projected = layers.gate(&projected, &summary);
    let position = layers.conv(features, Conv::new(WIDTH, 1));
    let position = layers.conv(&position, Conv::new(WIDTH, 1));
    let memory = layers.add(&projected, &position);
    let memory = layers.positions(&memory);
    let heads: Vec<Tokens> = (0..HEADS).map(|_| cross_attention(layers, &queries, &memory)).collect();
    let joined = layers.join(&heads);
    let mixed = layers.project(&joined, WIDTH);
    let sum = layers.sum(&queries, &mixed);
    layers.layer_norm(&sum)
}

/// One head: 9 operators.
fn cross_attention(layers: &mut Layers, queries: &Tokens, memory: &Tokens) -> Tokens {
    let keys = layers.project(memory, WIDTH);
    let keys = layers.shift(&keys);
    let keys = layers.layer_norm(&keys);
    let scores = layers.scores(queries, &keys);
    let scores = layers.scaled(&scores, WIDTH);
    let scores = layers.shift(&scores);
    let weights = layers.weights(&scores);
    layers.mix(&weights, &keys)
}

/// 10 operators.
fn self_attention(layers: &mut Layers, tokens: &Tokens) -> Tokens {
    let keys = layers.project(tokens, WIDTH);
    let keys = layers.shift(&keys);
    let scores = layers.scores(&keys, &keys);
    let scores = layers.scaled(&scores, WIDTH);
    let weights = layers.weights(&scores);
    let mixed = layers.mix(&weights, &keys);
    let mixed = layers.project(&mixed, WIDTH);
    let sum = layers.sum(tokens, &mixed);
    layers.layer_norm(&sum)
}

/// Class scores and boxes: 8 operators.
fn heads(layers: &mut Layers, tokens: &Tokens) -> Tokens {
    let classes = layers.project(tokens, WIDTH);
    let classes = layers.activated(&classes, "Relu");
    let classes = layers.project(&classes, 10);
    let classes = layers.activated(&classes, "Sigmoid");
    let boxes = layers.project(tokens, WIDTH);
    let boxes = layers.activated(&boxes, "Relu");
    let boxes = layers.project(&boxes, 10);
    layers.join(&[classes, boxes])
}
