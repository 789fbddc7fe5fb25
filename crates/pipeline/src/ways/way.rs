//! Ways to run a stage, by their numbers.

use millstream_partition::BlockRange;

/// A stage of a pipeline: its blocks, and the ways of its replicas.
#[derive(Debug, Clone)]
pub(crate) struct StageWays {
    pub(crate) blocks: BlockRange,
    pub(crate) ways: Vec<WayId>,
}

impl StageWays {
    /// A stage without other replicas than this.
    pub(crate) fn single(blocks: BlockRange, way: WayId) -> Self {
        Self { blocks, ways: vec![way] }
    }
}

/// A way to run a stage: a processor class of the board, or a team of several. Classes are numbered first, cluster by
/// cluster with counts of cores ascending, and then teams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct WayId(usize);

impl WayId {
    pub(crate) const fn new(index: usize) -> Self {
        Self(index)
    }

    pub(crate) const fn index(self) -> usize {
        self.0
    }
}
