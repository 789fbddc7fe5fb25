//! Results that are the same for every frame: initializers that the network returns.

use std::collections::{BTreeMap, HashSet};

use crate::names::{unused, value_name};
use crate::proto::{GraphProto, NodeProto};
use crate::weight::Weight;

/// Has an operator make each result that is an initializer, so that some stage returns it. Who reads the initializer
/// goes on reading a constant.
pub(crate) fn make(graph: &mut GraphProto, weights: &mut BTreeMap<String, Weight>) {
    let results: Vec<String> =
        graph.output.iter().map(value_name).filter(|name| weights.contains_key(*name)).map(str::to_owned).collect();
    if results.is_empty() {
        return;
    }

    let made = graph.node.iter().flat_map(|node| node.output.iter().chain(&node.name)).cloned();
    let inputs = graph.input.iter().map(|input| value_name(input).to_owned());
    let mut taken: HashSet<String> = made.chain(inputs).chain(weights.keys().cloned()).collect();
    for result in results {
        // The same initializer may be returned twice.
        let Some(weight) = weights.remove(&result) else { continue };
        let constant = unused(&mut taken, &format!("{result}_constant"));
        for input in graph.node.iter_mut().flat_map(|node| &mut node.input).filter(|input| **input == result) {
            input.clone_from(&constant);
        }
        graph.node.push(NodeProto {
            op_type: Some("Identity".to_owned()),
            name: Some(unused(&mut taken, &format!("Identity_{}", graph.node.len()))),
            input: vec![constant.clone()],
            output: vec![result],
            ..NodeProto::default()
        });
        weights.insert(constant, weight);
    }
}
