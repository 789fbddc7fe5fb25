//! Something of every range of blocks.

use std::ops::Range;

/// A value for every range of blocks that is not empty.
#[derive(Debug, Clone)]
pub(crate) struct RangeTable<T>(Vec<T>);

impl<T> RangeTable<T> {
    /// What a function says of each range of so many blocks.
    pub(crate) fn of(blocks: usize, of: impl FnMut(Range<usize>) -> T) -> Self {
        Self(ranges(blocks).map(of).collect())
    }

    /// The value of a range.
    #[inline]
    pub(crate) fn at(&self, start: usize, end: usize) -> &T {
        &self.0[place(start, end)]
    }
}

/// All ranges of so many blocks, by their ends and then by their starts.
pub(crate) fn ranges(blocks: usize) -> impl Iterator<Item = Range<usize>> {
    (1..=blocks).flat_map(|end| (0..end).map(move |start| start..end))
}

/// The place of a range among all of them.
#[inline]
pub(crate) fn place(start: usize, end: usize) -> usize {
    (end - 1) * end / 2 + start
}
