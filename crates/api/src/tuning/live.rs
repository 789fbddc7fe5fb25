//! An engine with frames flowing through it, as something that measures schedules.

use std::time::Instant;

use millstream_cost::Nanoseconds;
use millstream_runtime::{Engine, TuningPolicy};
use millstream_schedule::Schedule;
use millstream_tune::{Oracle, Trial, TuneError};

use crate::run::adaptation::trial_of;
use crate::tuning::recorded::failed;

/// An engine with frames flowing through it, as something that measures schedules.
pub(crate) struct LiveOracle<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) policy: TuningPolicy,
    pub(crate) is_over: &'a dyn Fn() -> bool,
}

impl Oracle<Schedule> for LiveOracle<'_> {
    fn measure(&mut self, schedule: &Schedule) -> Result<Trial, TuneError> {
        let begin = Instant::now();
        let seen = self.engine.try_schedule(schedule, &self.policy, self.is_over);
        let seen = seen.map_err(|error| failed(schedule, error))?;
        let seen = seen.ok_or_else(|| failed(schedule, "it was interrupted"))?;
        Ok(trial_of(&seen, Nanoseconds::from(begin.elapsed())))
    }
}
