//! Trials of schedules, kept and counted.

use millstream_schedule::Schedule;
use millstream_tune::{Oracle, Trial, TuneError};

/// Keeps what an oracle measured, and lets it measure only so much.
pub(crate) struct Recorded<'a> {
    oracle: &'a mut dyn Oracle<Schedule>,
    /// The most trials.
    most: usize,
    /// What was run, in order.
    pub(crate) trials: Vec<(Schedule, Trial)>,
}

impl<'a> Recorded<'a> {
    pub(crate) fn new(oracle: &'a mut dyn Oracle<Schedule>, most: usize) -> Self {
        Self { oracle, most, trials: Vec::new() }
    }

    /// Whether the search had to stop because it may run no more trials.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.trials.len() >= self.most
    }
}

impl Oracle<Schedule> for Recorded<'_> {
    fn measure(&mut self, schedule: &Schedule) -> Result<Trial, TuneError> {
        if self.is_exhausted() {
            return Err(failed(schedule, "there are no trials left"));
        }
        let trial = self.oracle.measure(schedule)?;
        tracing::info!(configuration = %schedule, period = %trial.period, available = ?trial.available, "trial");
        self.trials.push((schedule.clone(), trial.clone()));
        Ok(trial)
    }
}

/// The error of a trial.
pub(crate) fn failed(schedule: &Schedule, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> TuneError {
    TuneError::Oracle { configuration: schedule.to_string(), source: source.into() }
}
