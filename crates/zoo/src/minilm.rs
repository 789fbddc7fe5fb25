//! A sentence encoder like MiniLM (Wang et al., NeurIPS 2020) with matrices of 8 bits, quantised by the scale of their
//! own inputs: 6 layers of width 384 with 12 heads, for any number of tokens.

use millstream_graph::DataType;
use millstream_onnx::{Attributes, Weight};

use crate::layers::Layers;

const WIDTH: usize = 384;
const INNER_WIDTH: usize = 1536;
const HEADS: usize = 12;
const LAYERS: usize = 6;
/// Words; a quarter of the original's, which changes nothing but the size of the table.
const WORDS: usize = 7630;
const POSITIONS: usize = 512;

pub(crate) fn build_int8(layers: &mut Layers) {
    let ids = layers.builder.typed_open_input("input_ids", DataType::I64, &["batch", "sequence"]);
    let mask = layers.builder.typed_open_input("attention_mask", DataType::I64, &["batch", "sequence"]);
    let mut tokens = embed(layers, &ids);
    let bias = mask_bias(layers, &mask);
    for _ in 0..LAYERS {
        let attended = attention(layers, &tokens, &bias);
        tokens = sum_and_normalise(layers, &tokens, &attended);
        let narrow = layers.dynamic_quantised(&tokens);
        let inner = layers.dynamic_product(&narrow, WIDTH, INNER_WIDTH);
        let inner = gelu(layers, &inner);
        let inner = layers.dynamic_quantised(&inner);
        let outer = layers.dynamic_product(&inner, INNER_WIDTH, WIDTH);
        tokens = sum_and_normalise(layers, &tokens, &outer);
    }
    layers.builder.output(&tokens);
}

/// Words and their positions.
fn embed(layers: &mut Layers, ids: &str) -> String {
    let words = layers.draw("words", vec![WORDS, WIDTH], 1.0);
    let words = layers.builder.node("Gather", &[&words, ids]);
    let shape = layers.builder.node("Shape", &[ids]);
    let one = layers.builder.weight("place", &Weight::from_i64([], &[1]));
    let count = layers.builder.node("Gather", &[&shape, &one]);
    let zero = layers.builder.weight("zero", &Weight::from_i64([], &[0]));
    let places = layers.builder.node("Range", &[&zero, &count, &one]);
    let positions = layers.draw("positions", vec![POSITIONS, WIDTH], 0.3);
    let positions = layers.builder.node("Gather", &[&positions, &places]);
    sum_and_normalise(layers, &words, &positions)
}

/// What keeps attention from tokens whose mask is 0.
fn mask_bias(layers: &mut Layers, mask: &str) -> String {
    let axes = layers.builder.weight("axes", &Weight::from_i64([2], &[1, 2]));
    let wide = layers.builder.node("Unsqueeze", &[mask, &axes]);
    let floats = layers.builder.node_with("Cast", &[&wide], Attributes::new().int("to", 1));
    let one = layers.builder.weight("one", &Weight::from_f32([], vec![1.0]));
    let missing = layers.builder.node("Sub", &[&one, &floats]);
    let low = layers.builder.weight("low", &Weight::from_f32([], vec![-1e4]));
    layers.builder.node("Mul", &[&missing, &low])
}

fn attention(layers: &mut Layers, tokens: &str, bias: &str) -> String {
    let tokens = layers.dynamic_quantised(tokens);
    let heads = |layers: &mut Layers, order: &[i64]| {
        let projected = layers.dynamic_product(&tokens, WIDTH, WIDTH);
        let split = layers.reshape(&projected, &[0, -1, HEADS as i64, (WIDTH / HEADS) as i64]);
        layers.transpose(&split, order)
    };
    let query = heads(layers, &[0, 2, 1, 3]);
    let key = heads(layers, &[0, 2, 3, 1]);
    let value = heads(layers, &[0, 2, 1, 3]);
    let scores = layers.builder.node("MatMul", &[&query, &key]);
    let factor = layers.builder.weight("factor", &Weight::from_f32([], vec![((WIDTH / HEADS) as f32).sqrt()]));
    let scaled = layers.builder.node("Div", &[&scores, &factor]);
    let masked = layers.builder.node("Add", &[&scaled, bias]);
    let weights = layers.builder.node_with("Softmax", &[&masked], Attributes::new().int("axis", -1));
    let mixed = layers.builder.node("MatMul", &[&weights, &value]);
    let joined = layers.transpose(&mixed, &[0, 2, 1, 3]);
    let joined = layers.reshape(&joined, &[0, -1, WIDTH as i64]);
    let joined = layers.dynamic_quantised(&joined);
    layers.dynamic_product(&joined, WIDTH, WIDTH)
}

fn sum_and_normalise(layers: &mut Layers, left: &str, right: &str) -> String {
    let sum = layers.builder.node("Add", &[left, right]);
    let (scale, shift) = (layers.constant("scale", WIDTH, 1.0), layers.draw("shift", vec![WIDTH], 0.05));
    let attributes = Attributes::new().int("axis", -1).float("epsilon", 1e-12);
    layers.builder.node_with("LayerNormalization", &[&sum, &scale, &shift], attributes)
}

/// The activation as exporters write it.
fn gelu(layers: &mut Layers, input: &str) -> String {
    let constant =
        |layers: &mut Layers, value: f32| layers.builder.weight("constant", &Weight::from_f32([], vec![value]));
    let root = constant(layers, 2_f32.sqrt());
    let scaled = layers.builder.node("Div", &[input, &root]);
    let error = layers.builder.node("Erf", &[&scaled]);
    let one = constant(layers, 1.0);
    let shifted = layers.builder.node("Add", &[&error, &one]);
    let gated = layers.builder.node("Mul", &[input, &shifted]);
    let half = constant(layers, 0.5);
    layers.builder.node("Mul", &[&gated, &half])
}
