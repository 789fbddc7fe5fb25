//! An engine with frames flowing through it, as something that measures schedules.

use std::time::Instant;

use millstream_board::Board;
use millstream_cost::Nanoseconds;
use millstream_runtime::{Engine, TuningPolicy};
use millstream_schedule::Schedule;
use millstream_tune::{Oracle, Trial, TuneError};

use crate::measuring::disturbance::{repeated_if_disturbed, watch};
use crate::run::adaptation::trial_of;
use crate::tuning::recorded::failed;

/// An engine with frames flowing through it, as something that measures schedules. A trial that others disturb is
/// repeated.
pub(crate) struct LiveOracle<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) board: &'a Board,
    pub(crate) policy: TuningPolicy,
    pub(crate) is_over: &'a dyn Fn() -> bool,
    /// How many cores others used during the trial that they disturbed most, also when it was repeated.
    pub(crate) others: f64,
}

impl Oracle<Schedule> for LiveOracle<'_> {
    fn measure(&mut self, schedule: &Schedule) -> Result<Trial, TuneError> {
        let (trial, others) = repeated_if_disturbed(|| {
            let (begin, others) = (Instant::now(), watch(self.board));
            let seen = self.engine.try_schedule(schedule, &self.policy, self.is_over);
            let seen = seen.map_err(|error| failed(schedule, error))?;
            let seen = seen.ok_or_else(|| failed(schedule, "it was interrupted"))?;
            let trial = trial_of(&seen, Nanoseconds::from(begin.elapsed()));
            Ok::<_, TuneError>((trial, others.cores().unwrap_or_default()))
        })?;
        self.others = self.others.max(others);
        Ok(trial)
    }
}
