//! Times of operators in context, from OpenVINO's counters.
//!
//! A counter tells the mean of all frames of a node, in whole microseconds. So what is known of an operator is its mean
//! in the frames that count, and each frame is given it in proportion to the time that the frame took.

use std::collections::{BTreeMap, HashMap, HashSet};

use millstream_backend::{Node, OperatorTimes, cover};
use millstream_graph::{Graph, OperatorId};

use crate::native::NodeTime;
use crate::renamed::renamed_convolutions;

/// Nodes in which OpenVINO runs several operators, named after the last. Others are named after their first operator,
/// and those that follow may run in them as well.
const NAMED_AFTER_THE_LAST: [&str; 6] =
    ["FakeQuantize", "Gelu", "MVN", "NormalizeL2", "ScaledDotProductAttention", "Subgraph"];

/// What the counters showed after a number of frames.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counters {
    /// The frames.
    pub(crate) frames: usize,
    /// The nodes, in the order in which they ran.
    pub(crate) nodes: Vec<NodeTime>,
}

/// The times of the operators of a segment in frames that took `frame_seconds`: those between the counters `before` and
/// `after` them.
pub(crate) fn operator_times(
    graph: &Graph,
    segment: &[OperatorId],
    before: &Counters,
    after: &Counters,
    frame_seconds: &[f64],
) -> Vec<OperatorTimes> {
    let (nodes, mut means) = means(graph, segment, before, after);
    let mean_frame = frame_seconds.iter().sum::<f64>() / frame_seconds.len().max(1) as f64;
    // Differences of rounded means may add up to more than there was.
    let sum: f64 = means.values().sum();
    if sum > mean_frame {
        means.values_mut().for_each(|mean| *mean *= mean_frame / sum);
    }
    let groups = cover(graph, segment, &nodes);
    let seconds = |operator: OperatorId| {
        let mean = means.get(&operator).copied().unwrap_or_default();
        frame_seconds.iter().map(|frame| mean * frame / mean_frame).collect()
    };
    let times = nodes.iter().zip(groups);
    times.map(|(node, operators)| OperatorTimes { operators, seconds: seconds(node.operator) }).collect()
}

/// The nodes that operators ran in, and the mean time of each in the frames between.
fn means(
    graph: &Graph,
    segment: &[OperatorId],
    before: &Counters,
    after: &Counters,
) -> (Vec<Node>, BTreeMap<OperatorId, f64>) {
    let names = names(graph, segment);
    let mut known: Vec<Option<OperatorId>> = after.nodes.iter().map(|node| find(&names, &node.name)).collect();
    for (place, operator) in renamed_convolutions(graph, segment, &after.nodes, &known) {
        known[place] = Some(operator);
    }

    let total = |counters: &Counters, index: usize| {
        let node = counters.nodes.get(index).filter(|node| node.name == after.nodes[index].name);
        node.map_or(0.0, |node| node.microseconds as f64 * counters.frames as f64)
    };
    let frames = (after.frames - before.frames).max(1) as f64;

    let (mut nodes, mut seen) = (Vec::new(), HashSet::new());
    let mut means: BTreeMap<OperatorId, f64> = BTreeMap::new();
    for (index, node) in after.nodes.iter().enumerate() {
        // What OpenVINO puts in between, such as a change of layout, is for what comes after it.
        let next = known[index..].iter().find_map(|&operator| operator);
        let last = || known[..index].iter().rev().find_map(|&operator| operator);
        let Some(owner) = next.or_else(last) else { continue };
        let mean = (total(after, index) - total(before, index)).max(0.0) / frames;
        *means.entry(owner).or_default() += mean * 1e-6;
        if known[index].is_some() && seen.insert(owner) {
            let is_last = NAMED_AFTER_THE_LAST.contains(&node.node_type.as_str());
            let op_type = if is_last { &node.node_type } else { &graph.operator(owner).op_type };
            nodes.push(Node { operator: owner, op_type: op_type.clone() });
        }
    }
    (nodes, means)
}

/// Operators by what OpenVINO may call their nodes: their names, and those of the values that they make.
fn names<'a>(graph: &'a Graph, segment: &[OperatorId]) -> HashMap<&'a str, OperatorId> {
    let mut names = HashMap::new();
    for &id in segment {
        let operator = graph.operator(id);
        names.extend(operator.outputs.iter().map(|&value| (graph.value(value).name.as_str(), id)));
        names.insert(operator.name.as_str(), id);
    }
    names
}

/// The operator that a node is named after. OpenVINO may say behind the name which part of the operator a node is.
fn find(names: &HashMap<&str, OperatorId>, node: &str) -> Option<OperatorId> {
    let mut name = node;
    loop {
        match (names.get(name), name.rsplit_once('/')) {
            (Some(&operator), _) => return Some(operator),
            (None, Some((shorter, _))) => name = shorter,
            (None, None) => return None,
        }
    }
}
