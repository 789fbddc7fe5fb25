//! Which operators belong together.

use millstream_graph::{Graph, OperatorId, OperatorKind};
use petgraph::unionfind::UnionFind;

/// What joins the operator before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Followers {
    /// What runtimes fuse or what costs nothing.
    Fused,
    /// Pooling as well: it is no place to divide work at.
    WithPooling,
}

/// Assigns every operator to a group; members of a group have equal representatives.
///
/// An operator joins the producer of its input if nobody else reads what that makes and the operator is one that runtimes
/// fuse or that costs nothing. Contracting such an edge can't create a cycle: all paths out of the producer start with it.
pub(crate) fn groups(graph: &Graph, followers: Followers) -> Vec<usize> {
    let mut groups = UnionFind::<usize>::new(graph.operators().len());
    let mut position = vec![0; graph.operators().len()];
    for (place, id) in graph.order().iter().enumerate() {
        position[id.index()] = place;
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
    groups.into_labeling()
}

/// Whether everything that `producer` makes is read by `reader` alone.
fn feeds_only(graph: &Graph, producer: OperatorId, reader: OperatorId) -> bool {
    graph
        .operator(producer)
        .outputs
        .iter()
        .all(|&value| graph.readers(value).iter().all(|&other| other == reader) && !graph.outputs().contains(&value))
}
