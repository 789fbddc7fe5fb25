//! Names of a schedule's replicas.

use std::fmt;

/// A replica of a schedule. It displays as in the names of threads and in warnings: "stage 2.1" is the first replica of
/// the second stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReplicaId {
    /// Stage, counted from 0.
    pub(crate) stage: usize,
    /// Replica of the stage, counted from 0.
    pub(crate) replica: usize,
}

impl ReplicaId {
    /// The stage as errors name it: counted from 1.
    pub(crate) const fn stage_number(self) -> usize {
        self.stage + 1
    }
}

impl fmt::Display for ReplicaId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "stage {}.{}", self.stage_number(), self.replica + 1)
    }
}
