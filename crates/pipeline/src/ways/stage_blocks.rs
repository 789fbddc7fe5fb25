//! The blocks of a stage, with what comes before it.

use millstream_partition::BlockRange;

use crate::board::senders::Senders;

/// The blocks of a stage, and the senders to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StageBlocks {
    pub(crate) senders: Senders,
    pub(crate) blocks: BlockRange,
}

impl StageBlocks {
    /// Whether a pipeline can have it.
    pub(crate) fn is_possible(self) -> bool {
        self.senders.may_send_to(self.blocks.start())
    }
}
