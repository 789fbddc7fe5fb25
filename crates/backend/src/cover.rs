//! Which operators ran in which node of a profile.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use millstream_graph::{Graph, OperatorId};

/// A node of an engine's own profile: the operator that it is named after, and the type of what ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// The operator.
    pub operator: OperatorId,
    /// What the engine ran in its place: its own type or one that ends with it, unless others were fused with it.
    pub op_type: String,
}

/// Assigns every operator of the segment to the node that ran it: fused operators run in the node of those that they
/// were fused with, and eliminated ones count for the operator that made their input. One group per node, of each
/// operator one node.
pub fn cover(graph: &Graph, segment: &[OperatorId], nodes: &[Node]) -> Vec<Vec<OperatorId>> {
    let members: HashSet<OperatorId> = segment.iter().copied().collect();
    let mut owner: HashMap<OperatorId, usize> = nodes.iter().map(|node| node.operator).zip(0..).collect();
    let producers = |id: OperatorId| {
        let inputs = graph.operator(id).inputs.iter();
        inputs.filter_map(|&value| graph.producer(value)).filter(|producer| members.contains(producer))
    };

    // In the order of the network, so that the same nodes give the same groups in whatever order an engine ran them.
    let mut in_order: Vec<(usize, &Node)> = nodes.iter().enumerate().collect();
    in_order.sort_by_key(|(_, node)| node.operator);
    for (place, node) in in_order {
        let mut open = vec![node.operator];
        while let Some(id) = open.pop() {
            if node.op_type.ends_with(graph.operator(id).op_type.as_str()) {
                continue;
            }
            for producer in producers(id) {
                if let Entry::Vacant(entry) = owner.entry(producer) {
                    entry.insert(place);
                    open.push(producer);
                }
            }
        }
    }

    for &id in segment {
        if !owner.contains_key(&id)
            && let Some(latest) = producers(id).filter_map(|producer| owner.get(&producer).copied()).max()
        {
            owner.insert(id, latest);
        }
    }
    for &id in segment.iter().rev() {
        if !owner.contains_key(&id) {
            let readers = graph.operator(id).outputs.iter().flat_map(|&value| graph.readers(value));
            let earliest = readers.filter_map(|reader| owner.get(reader).copied()).min();
            owner.insert(id, earliest.unwrap_or(0));
        }
    }

    let mut groups = vec![Vec::new(); nodes.len()];
    for &id in segment {
        if let Some(group) = owner.get(&id).and_then(|&place| groups.get_mut(place)) {
            group.push(id);
        }
    }
    groups
}
