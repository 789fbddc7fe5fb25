//! Names of a schedule's replicas.

use std::fmt;

use millstream_schedule::StageId;

/// A replica of a schedule. It displays as in the names of threads and in warnings: "stage 2.1" is the first replica of
/// the second stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReplicaId {
    pub(crate) stage: StageId,
    /// Replica of the stage, counted from 0.
    pub(crate) replica: usize,
}

impl fmt::Display for ReplicaId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "stage {}.{}", self.stage, self.replica + 1)
    }
}
