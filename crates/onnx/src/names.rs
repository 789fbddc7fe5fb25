//! Names that nodes and values of the file have.

use std::collections::HashSet;

use crate::proto::{GraphProto, NodeProto, ValueInfoProto};

/// Names that a node reads: its inputs and whatever its nested graphs take from around them.
pub(crate) fn operands(node: &NodeProto) -> Vec<&str> {
    let mut names: Vec<&str> = node.input.iter().map(String::as_str).filter(|name| !name.is_empty()).collect();
    for attribute in &node.attribute {
        for nested in attribute.g.iter().chain(&attribute.graphs) {
            names.extend(free_names(nested));
        }
    }
    names
}

pub(crate) fn value_name(info: &ValueInfoProto) -> &str {
    info.name.as_deref().unwrap_or_default()
}

/// The name, with a number if it is taken.
pub(crate) fn unused(taken: &mut HashSet<String>, wanted: &str) -> String {
    let mut name = wanted.to_owned();
    let mut number = 2;
    while !taken.insert(name.clone()) {
        name = format!("{wanted}_{number}");
        number += 1;
    }
    name
}

pub(crate) fn free_names(graph: &GraphProto) -> Vec<&str> {
    let defined: HashSet<&str> = graph
        .input
        .iter()
        .map(value_name)
        .chain(graph.initializer.iter().filter_map(|tensor| tensor.name.as_deref()))
        .chain(graph.node.iter().flat_map(|node| node.output.iter().map(String::as_str)))
        .collect();
    let read = graph.node.iter().flat_map(operands).chain(graph.output.iter().map(value_name));
    read.filter(|name| !defined.contains(name)).collect()
}
