//! Convolutions that OpenVINO gave names of its own.
//!
//! It multiplies the factors of a batch normalisation into the weights of the convolution before it, and names what
//! comes of that after a multiplication of its own, `Multiply_4006`. It does so from the inputs to the results, each
//! operator after all that it reads and the first input of an operator before the second, so that the numbers at the
//! ends of these names ascend in that order.

use std::collections::{HashMap, HashSet};

use millstream_graph::{Graph, OperatorId, OperatorKind};

use crate::native::NodeTime;

/// Which operators such nodes run, by the nodes' places. Nothing if it can't be told: there are not as many such nodes
/// as convolutions that no node is named after, or others have several groups.
pub(crate) fn renamed_convolutions(
    graph: &Graph,
    segment: &[OperatorId],
    nodes: &[NodeTime],
    known: &[Option<OperatorId>],
) -> HashMap<usize, OperatorId> {
    let mut renamed: Vec<(u64, usize)> = (0..nodes.len())
        .filter(|&place| known[place].is_none() && is_convolution(&nodes[place]))
        .filter_map(|place| Some((number(&nodes[place].name)?, place)))
        .collect();
    renamed.sort_unstable();

    let named: HashSet<OperatorId> = known.iter().flatten().copied().collect();
    let order = in_library_order(graph, segment);
    let left: Vec<(OperatorId, bool)> = order
        .into_iter()
        .filter(|id| !named.contains(id))
        .filter_map(|id| Some((id, has_groups(graph, id)?)))
        .collect();

    let is_same = renamed.len() == left.len()
        && renamed.iter().zip(&left).all(|(&(_, place), &(_, grouped))| (nodes[place].node_type == GROUPED) == grouped);
    if is_same {
        renamed.into_iter().zip(left).map(|((_, place), (id, _))| (place, id)).collect()
    } else {
        HashMap::new()
    }
}

const GROUPED: &str = "GroupConvolution";

fn is_convolution(node: &NodeTime) -> bool {
    node.node_type == "Convolution" || node.node_type == GROUPED
}

/// The number at the end of a name.
fn number(name: &str) -> Option<u64> {
    name.rsplit_once('_')?.1.parse().ok()
}

/// Whether a convolution has several groups; `None` for other operators.
fn has_groups(graph: &Graph, id: OperatorId) -> Option<bool> {
    match &graph.operator(id).kind {
        OperatorKind::Convolution(convolution) => Some(convolution.groups > 1),
        _ => None,
    }
}

/// The operators of a segment in the order in which the library goes through them.
fn in_library_order(graph: &Graph, segment: &[OperatorId]) -> Vec<OperatorId> {
    let members: HashSet<OperatorId> = segment.iter().copied().collect();
    let results = graph.boundary(segment).outputs;
    let mut open: Vec<OperatorId> = results.iter().filter_map(|&value| graph.producer(value)).collect();
    let (mut order, mut done) = (Vec::new(), HashSet::new());
    while let Some(&id) = open.last() {
        let inputs = graph.operator(id).inputs.iter().filter_map(|&value| graph.producer(value));
        let missing = |producer: &OperatorId| members.contains(producer) && !done.contains(producer);
        match inputs.clone().find(missing) {
            _ if done.contains(&id) => drop(open.pop()),
            Some(producer) => open.push(producer),
            None => {
                done.insert(id);
                order.push(id);
                open.pop();
            }
        }
    }
    order
}
