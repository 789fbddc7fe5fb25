//! Sets of clusters.

use crate::board::cluster_id::ClusterId;

/// A set of clusters, with a bit for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClusterSet(usize);

impl ClusterSet {
    /// No cluster.
    pub(crate) const EMPTY: Self = Self(0);

    /// All sets of so many clusters, the empty one first.
    pub(crate) fn all(clusters: usize) -> impl Iterator<Item = Self> + Clone {
        (0..1 << clusters).map(Self)
    }

    /// The set of these.
    pub(crate) fn of(clusters: impl Iterator<Item = ClusterId>) -> Self {
        Self(clusters.fold(0, |bits, cluster| bits | 1 << cluster.index()))
    }

    pub(crate) const fn contains(self, cluster: ClusterId) -> bool {
        (self.0 >> cluster.index()) & 1 == 1
    }

    /// Its place among all sets.
    pub(crate) const fn index(self) -> usize {
        self.0
    }
}
