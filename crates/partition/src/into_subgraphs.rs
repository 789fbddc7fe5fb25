//! Para-Pipe's division of a network into subgraphs (Zhang et al., Para-Pipe, algorithm 1).

use std::collections::BTreeSet;
use std::ops::Range;

use millstream_graph::Graph;

use crate::merge;
use crate::merge::Followers;
use crate::merged::MergedGraph;
use crate::subgraph::Subgraph;

/// Divides a network into subgraphs, in the order in which they run, each of which is a chain or a fan-in structure:
/// all that it reads was made by the one node that ends the subgraph before it (or is an input of the network).
///
/// Operators that runtimes fuse, and pooling that follows them, are merged first. In a network without any branch every
/// merged operator is a subgraph (algorithm 1, lines 3 to 7). Otherwise a subgraph ends wherever a single node's values
/// are all that later nodes read, and subgraphs that follow each other without branching are one chain. Where a skip
/// connection spans several such structures, they are one subgraph; a network that no single node divides is one
/// subgraph.
pub fn subgraphs(graph: &Graph) -> Vec<Subgraph> {
    let merged = MergedGraph::new(graph, &merge::groups(graph, Followers::WithPooling));
    let count = merged.nodes.len();
    if (1..count).all(|node| merged.predecessors[node] == [node - 1]) {
        return (0..count).map(|node| merged.subgraph(node..node + 1)).collect();
    }

    let mut ranges: Vec<Range<usize>> = Vec::new();
    let mut is_chain = false;
    let mut start = 0;
    for end in ends(&merged) {
        let is_single = start + 1 == end;
        match ranges.last_mut() {
            Some(previous) if is_single && is_chain => previous.end = end,
            _ => ranges.push(start..end),
        }
        is_chain = is_single;
        start = end;
    }
    ranges.into_iter().map(|range| merged.subgraph(range)).collect()
}

/// The ends of the shortest ranges of nodes after which a single node's values are all that later nodes read: of each,
/// the position after its last node.
fn ends(merged: &MergedGraph) -> Vec<usize> {
    let mut ends = Vec::new();
    // Nodes whose values are still needed, each after the position of its last reader.
    let mut live: BTreeSet<(usize, usize)> = BTreeSet::new();
    for (node, successors) in merged.successors.iter().enumerate() {
        live.retain(|&(last_reader, _)| last_reader > node);
        if let Some(&last_reader) = successors.last() {
            live.insert((last_reader, node));
        }
        if node + 1 == merged.nodes.len() || live.iter().all(|&(_, maker)| maker == node) {
            ends.push(node + 1);
        }
    }
    ends
}
