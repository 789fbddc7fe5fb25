//! Clusters by their numbers.

/// A cluster, or an accelerator, by its place among a board's clusters and then its accelerators, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClusterId(usize);

impl ClusterId {
    /// The cluster at this place.
    #[inline]
    pub const fn new(index: usize) -> Self {
        Self(index)
    }

    /// Its place.
    #[inline]
    pub const fn index(self) -> usize {
        self.0
    }

    /// The first so many.
    pub(crate) fn all(count: usize) -> impl ExactSizeIterator<Item = Self> + DoubleEndedIterator {
        (0..count).map(Self)
    }
}
