//! Tables with a value for every range of blocks.

use millstream_partition::BlockRange;

/// A value for every range of blocks that is not empty.
#[derive(Debug, Clone)]
pub(crate) struct RangeTable<T>(Vec<T>);

impl<T> RangeTable<T> {
    /// What a function says of each range of so many blocks.
    pub(crate) fn of(blocks: usize, of: impl FnMut(BlockRange) -> T) -> Self {
        Self(ranges(blocks).map(of).collect())
    }

    /// What a function makes of each two values of the same range, of two tables of as many blocks.
    pub(crate) fn zip_with(self, other: &Self, of: impl Fn(T, T) -> T) -> Self
    where
        T: Copy,
    {
        Self(self.0.into_iter().zip(&other.0).map(|(one, &other)| of(one, other)).collect())
    }

    /// The value of a range.
    #[inline]
    pub(crate) fn at(&self, blocks: BlockRange) -> &T {
        &self.0[place(blocks)]
    }

    /// The value of a range, to be changed.
    pub(crate) fn at_mut(&mut self, blocks: BlockRange) -> &mut T {
        &mut self.0[place(blocks)]
    }
}

/// All ranges of so many blocks, by their ends and then by their starts.
pub(crate) fn ranges(blocks: usize) -> impl Iterator<Item = BlockRange> {
    (1..=blocks).flat_map(|end| (0..end).map(move |start| BlockRange::from(start..end)))
}

/// The place of a range among all of them.
#[inline]
pub(crate) fn place(blocks: BlockRange) -> usize {
    let end = blocks.end().index();
    (end - 1) * end / 2 + blocks.start().index()
}
