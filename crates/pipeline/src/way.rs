use millstream_partition::BlockRange;

/// The blocks of a stage, and its replicas.
pub(crate) type StageWays = (BlockRange, Vec<WayId>);

/// A way to run a stage: a processor class of the board, or a team of several. Classes are numbered first, cluster by cluster with counts
/// of cores ascending, and then teams.
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
