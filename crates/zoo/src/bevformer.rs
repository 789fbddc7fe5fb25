//! A network like BEVFormer (Li et al., ECCV 2022) in the size that Para-Pipe evaluates: six layers of temporal
//! self-attention, spatial cross-attention and feed-forward layers behind a small backbone, 257 operators. Features of
//! other cameras and of the previous frame are inputs, so that layers hang together by one value only.

use crate::layers::{Conv, Layers};
use crate::petr::bottleneck;
use crate::tokens::Tokens;

const WIDTH: usize = 128;
const PREVIOUS: usize = 100;
const CAMERA: usize = 196;

pub(crate) fn build(layers: &mut Layers) {
    let image = layers.image(3, 160);
    let previous = layers.tokens_input("previous", PREVIOUS, WIDTH);
    let cameras = layers.tokens_input("cameras", CAMERA, WIDTH);
    let map = layers.conv(&image, Conv::new(64, 7).stride(2));
    let mut map = layers.max_pool(&map, 3, 2, 1);
    for filters in [32, 64, 96, 128] {
        map = bottleneck(layers, &map, filters, if filters % 64 == 0 { 2 } else { 1 });
    }
    let map = layers.conv(&map, Conv::new(WIDTH, 1));
    let mut tokens = layers.positions(&map);
    for _ in 0..6 {
        tokens = temporal(layers, &tokens, &previous);
        tokens = spatial(layers, &tokens, &cameras);
        tokens = layers.feed_forward(&tokens, false);
    }
    for _ in 0..3 {
        let wide = layers.project(&tokens, WIDTH);
        tokens = layers.activated(&wide, "Relu");
    }
    let scores = layers.project(&tokens, 10);
    let scores = layers.activated(&scores, "Sigmoid");
    layers.tokens_output(&scores);
}

/// Attention to the previous frame with two heads: 14 operators.
fn temporal(layers: &mut Layers, tokens: &Tokens, previous: &Tokens) -> Tokens {
    let head = |layers: &mut Layers| {
        let keys = layers.project(previous, WIDTH);
        let scores = layers.scores(tokens, &keys);
        let weights = layers.weights(&scores);
        layers.mix(&weights, &keys)
    };
    let heads = [head(layers), head(layers)];
    finish(layers, tokens, &heads)
}

/// Attention to the cameras with four heads: 16 operators.
fn spatial(layers: &mut Layers, tokens: &Tokens, cameras: &Tokens) -> Tokens {
    let head = |layers: &mut Layers| {
        let scores = layers.project(tokens, CAMERA);
        let weights = layers.weights(&scores);
        layers.mix(&weights, cameras)
    };
    let heads = [head(layers), head(layers), head(layers), head(layers)];
    finish(layers, tokens, &heads)
}

/// Heads are joined, mixed and added to what they were asked about: 4 operators.
fn finish(layers: &mut Layers, tokens: &Tokens, heads: &[Tokens]) -> Tokens {
    let joined = layers.join(heads);
    let mixed = layers.project(&joined, WIDTH);
    let sum = layers.sum(tokens, &mixed);
    layers.layer_norm(&sum)
}
