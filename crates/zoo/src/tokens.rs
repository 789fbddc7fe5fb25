//! Layers of transformers, on sequences of tokens.

use millstream_onnx::{Attributes, Weight};

use crate::layers::{Layers, Map};

/// Tokens of some width: a value of shape `[1, tokens, width]`.
#[derive(Debug, Clone)]
pub(crate) struct Tokens {
    pub(crate) name: String,
    pub(crate) count: usize,
    pub(crate) width: usize,
}

impl Layers {
    /// A further input of the network.
    pub(crate) fn tokens_input(&mut self, name: &str, count: usize, width: usize) -> Tokens {
        Tokens { name: self.builder.input(name, [1, count, width]), count, width }
    }

    pub(crate) fn tokens_output(&mut self, tokens: &Tokens) {
        self.builder.output(&tokens.name);
    }

    /// Positions of a map as tokens, channels as their width (2 operators).
    pub(crate) fn positions(&mut self, map: &Map) -> Tokens {
        let count = map.size[0] * map.size[1];
        let flat = self.reshape(&map.name, &[1, map.channels as i64, count as i64]);
        Tokens { name: self.transpose(&flat, &[0, 2, 1]), count, width: map.channels }
    }

    /// A vector cut into tokens (1 operator).
    pub(crate) fn cut(&mut self, vector: &Map, count: usize) -> Tokens {
        let width = vector.channels / count;
        Tokens { name: self.reshape(&vector.name, &[1, count as i64, width as i64]), count, width }
    }

    /// Every token times a matrix (1 operator).
    pub(crate) fn project(&mut self, tokens: &Tokens, width: usize) -> Tokens {
        let deviation = (tokens.width as f32).sqrt().recip();
        let matrix = self.draw("projection", vec![tokens.width, width], deviation);
        Tokens { name: self.builder.node("MatMul", &[&tokens.name, &matrix]), width, ..tokens.clone() }
    }

    /// A vector is added to every token (1 operator).
    pub(crate) fn shift(&mut self, tokens: &Tokens) -> Tokens {
        let bias = self.draw("bias", vec![tokens.width], 0.05);
        Tokens { name: self.builder.node("Add", &[&tokens.name, &bias]), ..tokens.clone() }
    }

    /// An activation (1 operator).
    pub(crate) fn activated(&mut self, tokens: &Tokens, op_type: &str) -> Tokens {
        Tokens { name: self.builder.node(op_type, &[&tokens.name]), ..tokens.clone() }
    }

    /// Layer normalisation (1 operator).
    pub(crate) fn layer_norm(&mut self, tokens: &Tokens) -> Tokens {
        let (scale, shift) = (self.constant("scale", tokens.width, 1.0), self.constant("shift", tokens.width, 0.0));
        let attributes = Attributes::new().int("axis", -1).float("epsilon", 1e-5);
        let name = self.builder.node_with("LayerNormalization", &[&tokens.name, &scale, &shift], attributes);
        Tokens { name, ..tokens.clone() }
    }

    /// Sum of two sequences of the same shape (1 operator).
    pub(crate) fn sum(&mut self, left: &Tokens, right: &Tokens) -> Tokens {
        Tokens { name: self.builder.node("Add", &[&left.name, &right.name]), ..left.clone() }
    }

    /// Every token of `left` times every token of `right` (2 operators).
    pub(crate) fn scores(&mut self, left: &Tokens, right: &Tokens) -> Tokens {
        let turned = self.transpose(&right.name, &[0, 2, 1]);
        Tokens { name: self.builder.node("MatMul", &[&left.name, &turned]), count: left.count, width: right.count }
    }

    /// Times the inverse root of the width of what was scored (1 operator).
    pub(crate) fn scaled(&mut self, scores: &Tokens, width: usize) -> Tokens {
        let factor = self.builder.weight("factor", &Weight::from_f32([], vec![(width as f32).sqrt().recip()]));
        Tokens { name: self.builder.node("Mul", &[&scores.name, &factor]), ..scores.clone() }
    }

    /// Softmax over each token's width (1 operator).
    pub(crate) fn weights(&mut self, scores: &Tokens) -> Tokens {
        let name = self.builder.node_with("Softmax", &[&scores.name], Attributes::new().int("axis", -1));
        Tokens { name, ..scores.clone() }
    }

    /// Sums of `values`' tokens, weighted (1 operator).
    pub(crate) fn mix(&mut self, weights: &Tokens, values: &Tokens) -> Tokens {
        let name = self.builder.node("MatMul", &[&weights.name, &values.name]);
        Tokens { name, count: weights.count, width: values.width }
    }

    /// Sequences side by side (1 operator).
    pub(crate) fn join(&mut self, parts: &[Tokens]) -> Tokens {
        let names: Vec<&str> = parts.iter().map(|part| part.name.as_str()).collect();
        let name = self.builder.node_with("Concat", &names, Attributes::new().int("axis", -1));
        let count = parts.first().map_or(0, |part| part.count);
        Tokens { name, count, width: parts.iter().map(|part| part.width).sum() }
    }

    /// Mean over the tokens as a map of one position (2 operators).
    pub(crate) fn mean(&mut self, tokens: &Tokens) -> Map {
        let attributes = Attributes::new().ints("axes", &[1]).int("keepdims", 0);
        let mean = self.builder.node_with("ReduceMean", &[&tokens.name], attributes);
        let name = self.reshape(&mean, &[1, tokens.width as i64, 1, 1]);
        Map { name, channels: tokens.width, size: [1, 1] }
    }

    /// The map times the sigmoid of one value per channel (2 operators).
    pub(crate) fn gate(&mut self, map: &Map, gate: &Map) -> Map {
        let gate = self.builder.node("Sigmoid", &[&gate.name]);
        Map { name: self.builder.node("Mul", &[&map.name, &gate]), ..map.clone() }
    }

    /// Residual feed-forward layers with layer normalisation; `has_biases` makes them 7 operators instead of 5.
    pub(crate) fn feed_forward(&mut self, tokens: &Tokens, has_biases: bool) -> Tokens {
        let biased = |layers: &mut Self, tokens: Tokens| if has_biases { layers.shift(&tokens) } else { tokens };
        let wide = self.project(tokens, 2 * tokens.width);
        let wide = biased(self, wide);
        let wide = self.activated(&wide, "Relu");
        let narrow = self.project(&wide, tokens.width);
        let narrow = biased(self, narrow);
        let sum = self.sum(tokens, &narrow);
        self.layer_norm(&sum)
    }
}
