//! An engine with frames flowing through it, as something that measures schedules.

use std::time::Instant;

use millstream_board::Board;
use millstream_cost::Nanoseconds;
use millstream_runtime::{Engine, TuningPolicy};
use millstream_schedule::Schedule;
use millstream_tune::{Oracle, Trial, TuneError};

use crate::interference::{Interference, InterferenceWatch};
use crate::measuring::disturbed::repeated_if_disturbed;
use crate::run::adaptation::trial_of;
use crate::tuning::recorded::failed;

/// An engine with frames flowing through it, as something that measures schedules. A trial that is disturbed is
/// repeated.
pub(crate) struct LiveOracle<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) board: &'a Board,
    pub(crate) policy: TuningPolicy,
    pub(crate) is_over: &'a dyn Fn() -> bool,
    /// Of the trial that was disturbed most, also when it was repeated.
    pub(crate) disturbance: Interference,
}

impl Oracle<Schedule> for LiveOracle<'_> {
    fn measure(&mut self, schedule: &Schedule) -> Result<Trial, TuneError> {
        let (trial, disturbance) = repeated_if_disturbed(|| {
            let (begin, watch) = (Instant::now(), InterferenceWatch::of(self.board));
            let seen = self.engine.try_schedule(schedule, &self.policy, self.is_over);
            let seen = seen.map_err(|error| failed(schedule, error))?;
            let seen = seen.ok_or_else(|| failed(schedule, "it was interrupted"))?;
            let trial = trial_of(&seen, Nanoseconds::from(begin.elapsed()));
            Ok::<_, TuneError>((trial, watch.seen()))
        })?;
        self.disturbance = self.disturbance.or_greater(disturbance);
        Ok(trial)
    }
}
