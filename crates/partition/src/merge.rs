//! Which operators belong together.

use std::collections::BTreeMap;

use millstream_graph::{Graph, OperatorId, OperatorKind};
use petgraph::algo::kosaraju_scc;
use petgraph::graph::DiGraph;
use petgraph::unionfind::UnionFind;

/// What joins the operator before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Followers {
    /// What runtimes fuse or what costs nothing.
    Fused,
    /// Pooling as well: work is not divided there.
    WithPooling,
}

/// Of each operator, by its index, a number of its group: operators that belong together have the same one.
///
/// An operator joins the producer of its input if nobody else reads what that makes and the operator is one that
/// runtimes fuse or that costs nothing. A quantisation joins the operator before it, and a dequantisation the one
/// behind it, whoever else reads their values: apart they would give other results. Who makes a value of unknown type
/// and who reads it are one: nothing can start or end at such a value.
pub(crate) fn groups(graph: &Graph, followers: Followers) -> Vec<usize> {
    let mut groups = UnionFind::<usize>::new(graph.operators().len());
    let mut position = vec![0; graph.operators().len()];
    for (index, id) in graph.order().iter().enumerate() {
        position[id.index()] = index;
    }

    for reader in graph.operator_ids() {
        for producer in graph.inseparable_producers(reader) {
            groups.union(producer.index(), reader.index());
        }
    }

    for &id in graph.order() {
        let operator = graph.operator(id);
        let producers = operator.inputs.iter().filter_map(|&value| graph.producer(value));
        let exclusive = producers.filter(|&producer| feeds_only(graph, producer, id));
        let Some(producer) = exclusive.max_by_key(|producer| position[producer.index()]) else { continue };
        let is_follower = matches!(
            operator.kind,
            OperatorKind::Activation
                | OperatorKind::Elementwise
                | OperatorKind::Normalization
                | OperatorKind::DataMovement
                | OperatorKind::Softmax
        ) || followers == Followers::WithPooling && matches!(operator.kind, OperatorKind::Pool(_));
        if is_follower || graph.operator(producer).op_type == "Pad" {
            groups.union(producer.index(), id.index());
        }
    }
    join_cycles(graph, &mut groups);
    groups.into_labeling()
}

/// Joins groups that need each other's results, as when an operator and its quantisation are one but something else
/// that reads the operator's floats comes back to them.
fn join_cycles(graph: &Graph, groups: &mut UnionFind<usize>) {
    let mut contracted = DiGraph::<usize, ()>::new();
    let mut nodes = BTreeMap::new();
    for id in graph.operator_ids() {
        let group = groups.find_mut(id.index());
        nodes.entry(group).or_insert_with(|| contracted.add_node(group));
    }

    for (from, to) in graph.dependencies().edge_indices().filter_map(|edge| graph.dependencies().edge_endpoints(edge)) {
        let [from, to] = [from, to].map(|node| groups.find_mut(node.index()));
        if from != to
            && let (Some(&from), Some(&to)) = (nodes.get(&from), nodes.get(&to))
        {
            contracted.update_edge(from, to, ());
        }
    }

    for component in kosaraju_scc(&contracted) {
        for pair in component.windows(2) {
            groups.union(contracted[pair[0]], contracted[pair[1]]);
        }
    }
}

/// Whether everything that `producer` makes is read by `reader` alone.
fn feeds_only(graph: &Graph, producer: OperatorId, reader: OperatorId) -> bool {
    graph
        .operator(producer)
        .outputs
        .iter()
        .all(|&value| graph.readers(value).iter().all(|&other| other == reader) && !graph.outputs().contains(&value))
}
