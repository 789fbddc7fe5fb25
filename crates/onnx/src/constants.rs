//! Of which constant inputs parts can be taken, so that an operator can be divided by channels.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use millstream_graph::{Constants, OperatorKind};

use crate::proto::NodeProto;
use crate::weight::Weight;

/// The constants of a model while it is read.
#[derive(Clone, Copy)]
pub(crate) struct ConstantTable<'a> {
    pub(crate) weights: &'a BTreeMap<String, Weight>,
    pub(crate) nodes: &'a HashMap<String, Arc<NodeProto>>,
}

impl<'a> ConstantTable<'a> {
    pub(crate) fn contains(&self, name: &str) -> bool {
        self.weights.contains_key(name) || self.nodes.contains_key(name)
    }

    /// The integers and the node behind a constant that is stored quantised.
    pub(crate) fn dequantized(&self, name: &str) -> Option<(&'a Weight, &'a NodeProto)> {
        let node = self.nodes.get(name).filter(|node| node.op() == "DequantizeLinear")?;
        let data = self.weights.get(node.input.first()?)?;
        // Blocks of scales can't be cut anywhere.
        let is_plain = node.int("block_size").unwrap_or(0) == 0
            && node.input[1..].iter().all(|name| name.is_empty() || self.weights.contains_key(name));
        is_plain.then_some((data, &**node))
    }

    /// Whether parts of a constant can be taken.
    fn is_divisible(&self, name: &str) -> bool {
        self.stored(name).is_some()
    }

    fn elements(&self, name: &str) -> Option<u64> {
        self.weights.get(name).map(|weight| weight.shape.elements())
    }

    /// A constant as it is stored: floats, or the integers behind them. Both have the same shape.
    pub(crate) fn stored(&self, name: &str) -> Option<&'a Weight> {
        self.weights.get(name).or_else(|| Some(self.dequantized(name)?.0))
    }

    pub(crate) fn rank(&self, name: &str) -> Option<usize> {
        Some(self.stored(name)?.shape.dimensions().len())
    }

    /// What the constant inputs of a node mean for dividing it.
    pub(crate) fn of(&self, node: &NodeProto, kind: &OperatorKind) -> Constants {
        let input = |index: usize| input(node, index);
        let constants = || node.input.iter().filter(|name| self.contains(name));
        // Before operator set 7, an attribute said along which dimension the second operand lies.
        if node.attribute("broadcast").is_some() {
            return Constants::Computed;
        }
        if kind.has_weight_matrix() {
            return self.of_product(node);
        }
        let is_divisible = match kind {
            // One scale for all elements, or the scales would have to be cut with the channels.
            OperatorKind::Quantization => {
                [1, 2].into_iter().filter_map(input).all(|name| self.elements(name) == Some(1))
            }
            // A bias that some other operator makes has no part of its own.
            _ if kind.convolution().is_some() => {
                let weights: &[usize] = match node.op() {
                    "QLinearConv" => &[1, 2, 3, 4, 5, 6, 7, 8],
                    "ConvInteger" => &[1, 3],
                    _ => &[1, 2],
                };
                weights.iter().filter_map(|&index| input(index)).all(|name| self.is_divisible(name))
            }
            _ => constants().all(|name| self.weights.contains_key(name)),
        };
        if is_divisible { Constants::Divisible } else { Constants::Computed }
    }

    /// The product of a value and a weight matrix.
    fn of_product(&self, node: &NodeProto) -> Constants {
        let input = |index: usize| input(node, index);
        let (left, right) = if node.op() == "QLinearMatMul" { (0, 3) } else { (0, 1) };
        let is_constant = |index: usize| input(index).is_some_and(|name| self.contains(name));
        let is_matrix = |index: usize| {
            input(index).is_some_and(|name| self.is_divisible(name) && self.rank(name).is_some_and(|rank| rank >= 2))
        };
        let is_number = |index: usize| input(index).is_none_or(|name| self.elements(name) == Some(1));
        // Gemm adds a matrix: parts of it must be at hand as well.
        let adds_constant = node.op() != "Gemm" || input(2).is_none_or(|name| self.is_divisible(name));

        let (scales_fit, scales_are_numbers) = match node.op() {
            "QLinearMatMul" => {
                let others = [1, 2, 6, 7].into_iter().all(is_number);
                let of_weights = [4, 5].into_iter().filter_map(input).all(|name| self.weights.contains_key(name));
                (others && of_weights, others && [4, 5].into_iter().all(is_number))
            }
            "MatMulInteger" => {
                let of_weights = input(3).is_none_or(|name| self.weights.contains_key(name));
                (of_weights, of_weights && is_number(3) && is_number(2))
            }
            _ => (true, true),
        };

        if is_matrix(right) && !is_constant(left) && adds_constant && scales_fit {
            Constants::Divisible
        } else if is_matrix(left) && !is_constant(right) && adds_constant && scales_are_numbers {
            Constants::WeightsFirst
        } else {
            Constants::Computed
        }
    }
}

/// The name of an input that is not left out.
fn input(node: &NodeProto, index: usize) -> Option<&str> {
    node.input.get(index).map(String::as_str).filter(|name| !name.is_empty())
}
