//! Operators whose values nobody needs, as conversions leave them behind.

use std::collections::HashMap;

use crate::names::{operands, value_name};
use crate::proto::GraphProto;

/// Takes away operators that no result depends on: runtimes don't run them either.
pub(crate) fn remove(graph: &mut GraphProto) {
    let makers: HashMap<&str, usize> = graph
        .node
        .iter()
        .enumerate()
        .flat_map(|(place, node)| node.output.iter().map(move |name| (name.as_str(), place)))
        .filter(|(name, _)| !name.is_empty())
        .collect();
    let mut is_needed = vec![false; graph.node.len()];
    let mut needed: Vec<&str> = graph.output.iter().map(value_name).collect();
    while let Some(name) = needed.pop() {
        let Some(&maker) = makers.get(name) else { continue };
        if !std::mem::replace(&mut is_needed[maker], true) {
            needed.extend(operands(&graph.node[maker]));
        }
    }
    let mut places = is_needed.into_iter();
    graph.node.retain(|_| places.next().unwrap_or(true));
}
