//! A network as one subgraph.

use std::collections::BTreeSet;

use millstream_graph::Graph;

use crate::into_subgraphs::subgraphs;
use crate::subgraph::Subgraph;

/// A whole network as one subgraph, for methods that map it at once: its nodes are the merged operators of
/// [`subgraphs`], in an order in which they can run.
///
/// ```
/// let model = millstream_zoo::build("googlenet")?;
/// let whole = millstream_partition::joined(model.graph());
/// assert_eq!(whole.operators().count(), model.graph().operators().len());
/// assert!(whole.edges.iter().all(|(from, to)| from < to));
/// # Ok::<(), millstream_zoo::ZooError>(())
/// ```
pub fn joined(graph: &Graph) -> Subgraph {
    let parts = subgraphs(graph);
    let parallelism = parts.iter().map(|part| part.parallelism).max().unwrap_or(1);
    let nodes: Vec<_> = parts.into_iter().flat_map(|part| part.nodes).collect();
    let mut node_of = vec![0; graph.operators().len()];
    for (node, operators) in nodes.iter().enumerate() {
        operators.iter().for_each(|id| node_of[id.index()] = node);
    }
    let mut edges = BTreeSet::new();
    for id in graph.operator_ids() {
        let makers = graph.operator(id).inputs.iter().filter_map(|&value| graph.producer(value));
        edges.extend(makers.map(|maker| (node_of[maker.index()], node_of[id.index()])).filter(|(from, to)| from != to));
    }
    Subgraph { nodes, edges: edges.into_iter().collect(), parallelism }
}
