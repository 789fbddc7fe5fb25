//! Subgraphs that follow each other.

use millstream_partition::SubgraphId;

/// Subgraphs of a network from one on, up to another that is not among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SubgraphRange {
    pub(crate) start: SubgraphId,
    pub(crate) end: SubgraphId,
}

impl SubgraphRange {
    #[inline]
    pub(crate) const fn new(start: SubgraphId, end: SubgraphId) -> Self {
        Self { start, end }
    }

    /// A single one.
    #[inline]
    pub(crate) const fn single(subgraph: SubgraphId) -> Self {
        Self { start: subgraph, end: subgraph.next() }
    }

    /// How many there are.
    #[inline]
    pub(crate) fn len(self) -> usize {
        self.end.index().saturating_sub(self.start.index())
    }

    /// One after the other.
    #[inline]
    pub(crate) fn ids(self) -> impl DoubleEndedIterator<Item = SubgraphId> {
        (self.start.index()..self.end.index()).map(SubgraphId::new)
    }
}
