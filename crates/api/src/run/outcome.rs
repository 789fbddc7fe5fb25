//! What became of one network's run.

use millstream_schedule::{Schedule, ScheduleDocument};

use crate::error::Error;
use crate::run::report::NetworkRun;

/// Frames that are streamed by default.
pub(super) const USUAL_FRAMES: u64 = 50;

/// The outcome of a run for one network.
pub struct NetworkOutcome {
    /// What was measured.
    pub report: NetworkRun,
    /// The schedule that was at work at the end.
    pub schedule: Schedule,
    /// Its file.
    pub document: ScheduleDocument,
    /// [`Error::Unexpected`] if results were not as expected.
    pub verdict: Result<(), Error>,
}
