//! Blocks: the operators that no cut separates, and ranges of them.

use std::fmt;
use std::ops::Range;

use millstream_graph::OperatorId;

/// Operators that are never separated, in the order in which they run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// The operators.
    pub operators: Vec<OperatorId>,
}

/// The position of a block in its [`Chain`](crate::Chain), counted from 0. As the end of a range it may be the number
/// of all blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockId(usize);

impl BlockId {
    /// The block at this position.
    pub const fn new(index: usize) -> Self {
        Self(index)
    }

    /// Its position.
    pub const fn index(self) -> usize {
        self.0
    }
}

/// Blocks of a [`Chain`](crate::Chain) that follow each other.
///
/// ```
/// use millstream_partition::{BlockId, BlockRange};
///
/// let blocks = BlockRange::from(2..5);
/// assert_eq!((blocks.start(), blocks.end(), blocks.len()), (BlockId::new(2), BlockId::new(5), 3));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct BlockRange {
    start: BlockId,
    end: BlockId,
}

impl BlockRange {
    /// The blocks from one on, up to another that is not among them.
    pub const fn new(start: BlockId, end: BlockId) -> Self {
        Self { start, end }
    }

    /// The first block.
    pub const fn start(self) -> BlockId {
        self.start
    }

    /// The block after the last one.
    pub const fn end(self) -> BlockId {
        self.end
    }

    /// How many blocks there are.
    pub fn len(self) -> usize {
        self.end.0.saturating_sub(self.start.0)
    }

    /// Whether there is no block.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Whether the first block of the chain is the first one here, so that nothing comes from blocks before.
    pub const fn begins_chain(self) -> bool {
        self.start.0 == 0
    }

    /// Positions of the blocks, for what is kept by position.
    pub const fn indices(self) -> Range<usize> {
        self.start.0..self.end.0
    }
}

impl From<Range<usize>> for BlockRange {
    fn from(positions: Range<usize>) -> Self {
        Self { start: BlockId(positions.start), end: BlockId(positions.end) }
    }
}

impl PartialEq<Range<usize>> for BlockRange {
    fn eq(&self, other: &Range<usize>) -> bool {
        self.indices() == *other
    }
}

impl fmt::Debug for BlockRange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}..{}", self.start.0, self.end.0)
    }
}
