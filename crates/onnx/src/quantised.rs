//! Quantised operators written as floats between `DequantizeLinear` and `QuantizeLinear`.

use std::collections::{HashMap, HashSet};

use millstream_graph::{Convolution, OperatorKind};

use crate::names::{operands, unused, value_name};
use crate::proto::{GraphProto, NodeProto};

/// Gives every reader of a dequantised value a `DequantizeLinear` of its own, as runtimes do before they fuse: then it
/// belongs to one operator and never has to cross a border, while the integers before it do.
pub(crate) fn separate_dequantizations(graph: &mut GraphProto) {
    let initializers: HashSet<&str> = graph.initializer.iter().filter_map(|weight| weight.name.as_deref()).collect();
    let is_of_value = |node: &NodeProto| {
        let data = node.input.first();
        node.op() == "DequantizeLinear"
            && node.output.len() == 1
            && data.is_some_and(|data| !initializers.contains(data.as_str()))
    };
    let dequantized: HashMap<String, usize> = graph
        .node
        .iter()
        .enumerate()
        .filter(|(_, node)| is_of_value(node))
        .map(|(index, node)| (node.output[0].clone(), index))
        .collect();
    if dequantized.is_empty() {
        return;
    }

    let mut taken = Names::of(graph);
    // Results of the network and what nested graphs read keep the original.
    let mut is_claimed: HashSet<String> = graph.output.iter().map(|output| value_name(output).to_owned()).collect();
    for node in &graph.node {
        let direct: HashSet<&str> = node.input.iter().map(String::as_str).collect();
        is_claimed.extend(operands(node).into_iter().filter(|name| !direct.contains(name)).map(str::to_owned));
    }

    let mut copies = Vec::new();
    for reader in 0..graph.node.len() {
        let values: HashSet<String> =
            graph.node[reader].input.iter().filter(|name| dequantized.contains_key(*name)).cloned().collect();
        let mut values: Vec<String> = values.into_iter().collect();
        values.sort_unstable();
        for value in values {
            // The first reader takes the original.
            if is_claimed.insert(value.clone()) {
                continue;
            }
            let mut copy = graph.node[dequantized[&value]].clone();
            let reader_name = graph.node[reader].name.clone().unwrap_or_default();
            let own_value = taken.value(&format!("{value} for {reader_name}"));
            copy.name = Some(taken.node(&format!("{} for {reader_name}", copy.name.unwrap_or_default())));
            copy.output = vec![own_value.clone()];
            for input in graph.node[reader].input.iter_mut().filter(|input| **input == value) {
                input.clone_from(&own_value);
            }
            copies.push(copy);
        }
    }
    graph.node.extend(copies);
}

/// Names that are in use.
struct Names {
    values: HashSet<String>,
    nodes: HashSet<String>,
}

impl Names {
    fn of(graph: &GraphProto) -> Self {
        let made = graph.node.iter().flat_map(|node| node.output.iter().cloned());
        let given = graph.input.iter().map(|input| value_name(input).to_owned());
        let stored = graph.initializer.iter().filter_map(|weight| weight.name.clone());
        Self {
            values: made.chain(given).chain(stored).collect(),
            nodes: graph.node.iter().filter_map(|node| node.name.clone()).collect(),
        }
    }

    fn value(&mut self, wanted: &str) -> String {
        unused(&mut self.values, wanted)
    }

    fn node(&mut self, wanted: &str) -> String {
        unused(&mut self.nodes, wanted)
    }
}

/// What an operator on floats is if both its operands are dequantised: runtimes run it on the integers.
pub(crate) fn quantised(kind: OperatorKind) -> OperatorKind {
    match kind {
        OperatorKind::Convolution(convolution) => OperatorKind::QuantizedConvolution(convolution),
        OperatorKind::FullyConnected => OperatorKind::QuantizedMatrixMultiplication { has_weights: true },
        OperatorKind::MatrixMultiplication => OperatorKind::QuantizedMatrixMultiplication { has_weights: false },
        other => other,
    }
}

/// A convolution as its operator type has it.
pub(crate) fn convolution_kind(op: &str, convolution: Convolution) -> OperatorKind {
    match op {
        "QLinearConv" => OperatorKind::QuantizedConvolution(convolution),
        "ConvInteger" => OperatorKind::IntegerConvolution(convolution),
        _ => OperatorKind::Convolution(convolution),
    }
}
