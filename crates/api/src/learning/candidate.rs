//! Plans to try.

use millstream_pipeline::Plan;
use millstream_schedule::Schedule;
use millstream_tune::TuneError;

use crate::error::Error;

/// A plan as something to try: the same as another if its stages and processors are, whatever their times.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub(super) plan: Plan,
    pub(super) schedule: Schedule,
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.plan.is_same_pipeline(&other.plan)
    }
}

impl Candidate {
    /// Why it did not run.
    pub(super) fn failure(&self, error: Error) -> TuneError {
        TuneError::Oracle { configuration: self.schedule.to_string(), source: Box::new(error) }
    }
}
