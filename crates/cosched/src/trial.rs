//! A replica that is being divided, as it runs.

use millstream_cost::Nanoseconds;
use millstream_schedule::execution::{Execution, TaskId};
use millstream_schedule::{Replica, ReplicaTasks};

/// A replica that was tried.
pub(crate) struct Trial<'t> {
    pub(crate) replica: Replica,
    pub(crate) tasks: ReplicaTasks<'t>,
    pub(crate) execution: Execution,
    /// An order in which the tasks can run.
    pub(crate) order: Vec<TaskId>,
    /// When it is done.
    pub(crate) time: Nanoseconds,
}
