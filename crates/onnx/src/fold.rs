//! Separating what depends on a frame from what does not.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use crate::catalogue::is_deterministic;
use crate::evaluate::evaluate;
use crate::infer::infer;
use crate::knowledge::Knowledge;
use crate::names::operands;
use crate::proto::NodeProto;
use crate::weight::Weight;

/// Nodes sorted by whether they depend on a frame, and what is known of every value.
pub(crate) struct Folded {
    /// Nodes that remain operators, in execution order.
    pub(crate) nodes: Vec<NodeProto>,
    /// Nodes of constants only, by output.
    pub(crate) constant_nodes: HashMap<String, Arc<NodeProto>>,
    /// Weights, with the results of shape arithmetic added.
    pub(crate) weights: BTreeMap<String, Weight>,
    pub(crate) known: HashMap<String, Knowledge>,
}

/// Infers types and shapes along the execution order. A node whose outputs follow from shapes alone becomes weights,
/// and so does a node of constants as long as all such weights stay within `most_bytes`; other nodes of constants are
/// set aside; results of the network always stay operators.
pub(crate) fn fold(
    ordered: Vec<NodeProto>,
    mut weights: BTreeMap<String, Weight>,
    mut known: HashMap<String, Knowledge>,
    declared: &HashMap<String, Knowledge>,
    results: &HashSet<&str>,
    opset: i64,
    most_bytes: u64,
) -> Folded {
    let mut bytes_left = most_bytes;
    let mut nodes = Vec::with_capacity(ordered.len());
    let mut constant_nodes: HashMap<String, Arc<NodeProto>> = HashMap::new();
    for node in ordered {
        let mut values = Vec::new();
        for (name, inferred) in node.output.iter().zip(infer(&node, &known, opset)) {
            let knowledge = match declared.get(name) {
                Some(stated) => completed(inferred, stated),
                None => inferred,
            };
            values.push(knowledge.constant());
            known.insert(name.clone(), knowledge);
        }

        let is_result = node.output.iter().any(|name| results.contains(name.as_str()));
        // Shape arithmetic counts in 32 bits: of larger numbers it only knows that they are large.
        let is_exact = node.input.iter().filter_map(|name| weights.get(name)).all(Weight::fits_32_bits);
        let all_known: Option<Vec<Weight>> = if is_exact { values.into_iter().collect() } else { None };
        if let (false, Some(constants)) = (is_result || node.output.is_empty(), all_known) {
            weights.extend(node.output.iter().cloned().zip(constants));
            continue;
        }

        let is_constant = |name: &str| weights.contains_key(name) || constant_nodes.contains_key(name);
        if !is_result && is_deterministic(&node) && operands(&node).into_iter().all(is_constant) {
            let inputs: Vec<Option<&Weight>> = node.input.iter().map(|name| weights.get(name)).collect();
            let is_stored = node.input.iter().zip(&inputs).all(|(name, weight)| name.is_empty() || weight.is_some());
            if let ([output], true) = (node.output.as_slice(), is_stored)
                && let shape = known.get(output).and_then(Knowledge::shape)
                && let Some(weight) = evaluate(&node, &inputs, shape.as_ref(), bytes_left)
                && weight.first_nan().is_none()
            {
                bytes_left = bytes_left.saturating_sub(weight.data.len() as u64);
                known.insert(output.clone(), Knowledge::of_weight(&weight));
                weights.insert(output.clone(), weight);
                continue;
            }
            let node = Arc::new(node);
            for name in node.output.iter().filter(|name| !name.is_empty()) {
                constant_nodes.insert(name.clone(), Arc::clone(&node));
            }
        } else {
            nodes.push(node);
        }
    }

    let mut folded = Folded { nodes, constant_nodes, weights, known };
    folded.forget_unused();
    folded
}

/// What was inferred of a value, with what the file states where nothing was.
fn completed(inferred: Knowledge, stated: &Knowledge) -> Knowledge {
    let data_type = inferred.data_type.or(stated.data_type);
    let is_shapeless = inferred.shape().is_none() && stated.shape().is_some();
    let mut knowledge = if is_shapeless { stated.clone() } else { inferred };
    knowledge.data_type = data_type;
    knowledge
}

impl Folded {
    /// Lets go of constants that nobody reads any more.
    fn forget_unused(&mut self) {
        let mut used: HashSet<String> = HashSet::new();
        let mut open: Vec<&NodeProto> = self.nodes.iter().collect();
        while let Some(node) = open.pop() {
            for name in operands(node) {
                if used.insert(name.to_owned())
                    && let Some(node) = self.constant_nodes.get(name)
                {
                    open.push(node);
                }
            }
        }
        self.weights.retain(|name, _| used.contains(name));
        self.constant_nodes.retain(|_, node| node.output.iter().any(|name| used.contains(name)));
    }
}
