//! A part of a network whose operators are given to processors together.

use millstream_graph::OperatorId;

/// The position of a subgraph among those of a network ([`subgraphs`](crate::subgraphs)), counted from 0. As the end of
/// a range it may be the number of all subgraphs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SubgraphId(usize);

impl SubgraphId {
    /// The subgraph at this position.
    #[inline]
    pub const fn new(index: usize) -> Self {
        Self(index)
    }

    /// Its position.
    #[inline]
    pub const fn index(self) -> usize {
        self.0
    }

    /// The first so many.
    pub fn all(count: usize) -> impl ExactSizeIterator<Item = Self> + DoubleEndedIterator {
        (0..count).map(Self)
    }

    /// The one after it.
    #[inline]
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }

    /// The one before it; `None` before the first.
    #[inline]
    pub fn before(self) -> Option<Self> {
        self.0.checked_sub(1).map(Self)
    }
}

/// A part of the network that starts where the part before it ends in a single operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subgraph {
    /// Merged operators, in an order in which they can run; each is a list of operators that stay together.
    pub nodes: Vec<Vec<OperatorId>>,
    /// Dependencies between nodes of this subgraph, each from one to another by their positions in `nodes`.
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
