//! All stages that there could be, and where tables have what is true of each.

use millstream_partition::BlockRange;

use crate::board::senders::Senders;
use crate::times::range_table::{place, ranges};
use crate::ways::stage_blocks::StageBlocks;

/// All stages of a chain: every range of blocks with each of the senders, by senders and then by ranges.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StagePlaces {
    blocks: usize,
    senders: usize,
    ranges: usize,
}

impl StagePlaces {
    /// Those of a chain of so many blocks, where there are so many different senders.
    pub(crate) fn new(blocks: usize, senders: usize) -> Self {
        Self { blocks, senders, ranges: ranges(blocks).count() }
    }

    pub(crate) fn len(self) -> usize {
        self.senders * self.ranges
    }

    /// The place of a stage among all of them.
    #[inline]
    pub(crate) fn of(self, senders: Senders, blocks: BlockRange) -> usize {
        senders.index() * self.ranges + place(blocks)
    }

    /// All of them, in the order of their places. Some are not possible ([`StageBlocks::is_possible`]).
    pub(crate) fn all(self) -> impl Iterator<Item = StageBlocks> {
        let with = move |senders| ranges(self.blocks).map(move |blocks| StageBlocks { senders, blocks });
        Senders::all(self.senders).flat_map(with)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stage_has_a_place_of_its_own() {
        let places = StagePlaces::new(4, 3);
        let all: Vec<usize> = places.all().map(|stage| places.of(stage.senders, stage.blocks)).collect();
        assert_eq!(all, (0..places.len()).collect::<Vec<_>>());
        assert_eq!(places.len(), 3 * 10);
        // Only the network sends to the four ranges that begin with the first block.
        assert_eq!(places.all().filter(|stage| !stage.is_possible()).count(), 2 * 4);
    }
}
