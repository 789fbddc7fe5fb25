//! Files that `deploy` writes.

/// A schedule.
pub(super) const SCHEDULE: &str = "schedule.json";
/// The report of a run.
pub(super) const RUN: &str = "run.json";
