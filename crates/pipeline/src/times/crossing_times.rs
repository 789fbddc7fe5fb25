//! What stages pay for frames that cross from host to host.

use millstream_cost::Nanoseconds;
use millstream_partition::BlockRange;

/// What a stage pays for a frame that comes from another host or goes to one, or where the network begins or ends from
/// or to outside, by the place where it begins or ends.
#[derive(Debug, Clone, Default)]
pub(crate) struct CrossingTimes {
    /// By the number of blocks before it.
    pub(crate) receiving: Vec<Nanoseconds>,
    /// By the number of blocks that are done after it.
    pub(crate) sending: Vec<Nanoseconds>,
}

impl CrossingTimes {
    /// What the stage of these blocks pays.
    pub(crate) fn of(&self, blocks: BlockRange) -> Nanoseconds {
        let at = |times: &[Nanoseconds], place: usize| times.get(place).copied().unwrap_or_default();
        at(&self.receiving, blocks.start().index()) + at(&self.sending, blocks.end().index())
    }
}
