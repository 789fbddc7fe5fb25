//! What became of one network's run.

use millstream_schedule::{Schedule, ScheduleDocument};

use crate::Error;
use crate::run::report::NetworkRun;

/// Frames that are streamed if nobody says how many.
pub(super) const USUAL_FRAMES: u64 = 50;

/// What came of a network in a run.
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
