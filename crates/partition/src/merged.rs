//! The graph of merged operators.

use std::collections::BTreeSet;
use std::ops::Range;

use millstream_graph::{Graph, OperatorId};

use crate::chain::order_groups;
use crate::subgraph::Subgraph;

/// Merged operators in a topological order, with their dependencies.
pub(crate) struct MergedGraph {
    /// The operators of each, in an order in which they can run.
    pub(crate) nodes: Vec<Vec<OperatorId>>,
    /// Of each node, the positions of those whose values it reads, ascending.
    pub(crate) predecessors: Vec<Vec<usize>>,
    /// Of each node, the positions of those that read its values, ascending.
    pub(crate) successors: Vec<Vec<usize>>,
}

impl MergedGraph {
    pub(crate) fn new(graph: &Graph, group_of: &[usize]) -> Self {
        let nodes: Vec<Vec<OperatorId>> =
            order_groups(graph, group_of).into_iter().map(|block| block.operators).collect();

        let mut node_of = vec![0; graph.operators().len()];
        for (index, node) in nodes.iter().enumerate() {
            for operator in node {
                node_of[operator.index()] = index;
            }
        }

        let mut predecessors = vec![BTreeSet::new(); nodes.len()];
        let mut successors = vec![BTreeSet::new(); nodes.len()];
        for (index, node) in nodes.iter().enumerate() {
            let inputs = node.iter().flat_map(|&operator| &graph.operator(operator).inputs);
            for producer in inputs.filter_map(|&value| graph.producer(value)) {
                let from = node_of[producer.index()];
                if from != index {
                    predecessors[index].insert(from);
                    successors[from].insert(index);
                }
            }
        }
        let lists = |sets: Vec<BTreeSet<usize>>| sets.into_iter().map(|set| set.into_iter().collect()).collect();
        Self { nodes, predecessors: lists(predecessors), successors: lists(successors) }
    }

    /// The nodes of a range as a subgraph.
    pub(crate) fn subgraph(&self, range: Range<usize>) -> Subgraph {
        let edges: Vec<(usize, usize)> = range
            .clone()
            .flat_map(|to| self.predecessors[to].iter().map(move |&from| (from, to)))
            .filter(|(from, _)| range.contains(from))
            .map(|(from, to)| (from - range.start, to - range.start))
            .collect();
        let parallelism = widest(range.len(), &edges);
        Subgraph { nodes: self.nodes[range].to_vec(), edges, parallelism }
    }
}

/// The most nodes of which none depends on another, by Dilworth's theorem: as many as the fewest chains that cover the
/// nodes, which is their number less a largest matching of nodes with later ones that depend on them.
fn widest(count: usize, edges: &[(usize, usize)]) -> usize {
    let reaches = reachability(count, edges.iter().copied());
    let mut matched: Vec<Option<usize>> = vec![None; count];
    let size = (0..count).filter(|&node| augment(node, &reaches, &mut matched, &mut vec![false; count])).count();
    count - size
}

/// Which nodes depend, directly or not, on which earlier ones: `reachability(..)[from][to]`. Edges point forward.
pub fn reachability(count: usize, edges: impl IntoIterator<Item = (usize, usize)>) -> Vec<Vec<bool>> {
    let mut successors = vec![Vec::new(); count];
    for (from, to) in edges {
        successors[from].push(to);
    }
    let mut reaches: Vec<Vec<bool>> = vec![vec![false; count]; count];
    // Going backward, every successor is complete.
    for (from, direct) in successors.into_iter().enumerate().rev() {
        let (earlier, later) = reaches.split_at_mut(from + 1);
        for to in direct {
            let through = &later[to - from - 1];
            for (word, &other) in earlier[from].iter_mut().zip(through) {
                *word |= other;
            }
            earlier[from][to] = true;
        }
    }
    reaches
}

/// Finds a partner for `node`, moving others' partners if need be.
fn augment(node: usize, reaches: &[Vec<bool>], matched: &mut [Option<usize>], is_seen: &mut [bool]) -> bool {
    for to in 0..matched.len() {
        if reaches[node][to] && !is_seen[to] {
            is_seen[to] = true;
            let is_free = match matched[to] {
                None => true,
                Some(other) => augment(other, reaches, matched, is_seen),
            };
            if is_free {
                matched[to] = Some(node);
                return true;
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_widest_antichain_is_that_of_brute_force(
            pairs in prop::collection::vec((0_usize..8, 0_usize..8), 0..16),
        ) {
            let edges: Vec<(usize, usize)> = pairs.into_iter().filter(|(from, to)| from < to).collect();
            let mut reaches = [[false; 8]; 8];
            for &(from, to) in &edges {
                reaches[from][to] = true;
            }
            for middle in 0..8 {
                for from in 0..8 {
                    for to in 0..8 {
                        reaches[from][to] |= reaches[from][middle] && reaches[middle][to];
                    }
                }
            }
            let is_antichain = |set: u32| {
                let members: Vec<usize> = (0..8).filter(|bit| set >> bit & 1 == 1).collect();
                members.iter().all(|&left| members.iter().all(|&right| !reaches[left][right]))
            };
            let expected = (1_u32..256).filter(|&set| is_antichain(set)).map(u32::count_ones).max().unwrap();
            prop_assert_eq!(widest(8, &edges), expected as usize);
        }
    }
}
