//! Hosts by their numbers.

/// A host by its place in the list of its [`System`](millstream_board::System), counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostPlace(usize);

impl HostPlace {
    /// The host at this place.
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
    pub(super) fn all(count: usize) -> impl Iterator<Item = Self> {
        (0..count).map(Self)
    }
}
