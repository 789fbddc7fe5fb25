//! What divisions of a network among hosts are about.

use millstream_cost::Nanoseconds;
use millstream_partition::{BlockId, BlockRange};

/// A range of blocks by the numbers of blocks before its start and its end.
pub(super) fn range(start: usize, end: usize) -> BlockRange {
    BlockRange::new(BlockId::new(start), BlockId::new(end))
}

/// What a way between hosts takes after each number of blocks.
pub(super) type Times = Vec<Nanoseconds>;
