//! Para-Pipe's graph partitioning (algorithm 1).

use millstream_graph::OperatorId;

/// A part of the network that starts where the part before it ends in a single operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subgraph {
    /// Merged operators, in an order in which they can run; each is a list of operators that stay together.
    pub nodes: Vec<Vec<OperatorId>>,
    /// Dependencies between nodes of this subgraph, as pairs of places in `nodes`.
    pub edges: Vec<(usize, usize)>,
    /// The most nodes of which none depends on another: how many processors can work at once.
    pub parallelism: usize,
}

impl Subgraph {
    /// All operators, in an order in which they can run.
    pub fn operators(&self) -> impl Iterator<Item = OperatorId> {
        self.nodes.iter().flatten().copied()
    }

    /// Whether no two nodes can run at once.
    pub fn is_chain(&self) -> bool {
        self.parallelism <= 1
    }
}
