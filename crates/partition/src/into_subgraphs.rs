//! The subgraphs of a network.

use std::collections::BTreeSet;

use millstream_graph::Graph;

use crate::merge;
use crate::merge::Followers;
use crate::merged::MergedGraph;
use crate::subgraph::Subgraph;

/// Divides a network into subgraphs, in the order in which they run, each of which is a chain or a fan-in structure: all that
/// it reads was made by the one node that ends the subgraph before it (or is an input of the network).
///
/// Operators that runtimes fuse, and pooling that follows them, are merged first. In a network without any branch every
/// merged operator is a subgraph (algorithm 1, lines 3 to 7). Otherwise a subgraph ends wherever a single node's values are
/// all that later nodes read, and subgraphs that follow each other without branching are one chain. Where a skip connection
/// spans several such structures, they are one subgraph; a network that no single node divides is one subgraph.
pub fn subgraphs(graph: &Graph) -> Vec<Subgraph> {
    let merged = MergedGraph::new(graph, &merge::groups(graph, Followers::WithPooling));
    let count = merged.nodes.len();
    if (1..count).all(|node| merged.predecessors[node] == [node - 1]) {
        return (0..count).map(|node| merged.subgraph(node..node + 1)).collect();
    }
    let mut ranges: Vec<std::ops::Range<usize>> = Vec::new();
    let mut is_chain = false;
    let mut start = 0;
    let mut live: BTreeSet<(usize, usize)> = BTreeSet::new();
    for node in 0..count {
        // Pairs of the place up to which a value is needed, and its maker.
        live.retain(|&(last_reader, _)| last_reader > node);
        if let Some(&last_reader) = merged.successors[node].last() {
            live.insert((last_reader, node));
        }
        let is_end = node + 1 == count || live.iter().all(|&(_, maker)| maker == node);
        if !is_end {
            continue;
        }
        let is_single = start == node;
        match ranges.last_mut() {
            Some(previous) if is_single && is_chain => previous.end = node + 1,
            _ => ranges.push(start..node + 1),
        }
        is_chain = is_single;
        start = node + 1;
    }
    ranges.into_iter().map(|range| merged.subgraph(range)).collect()
}
