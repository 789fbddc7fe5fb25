use millstream_cost::Nanoseconds;

use crate::TuneError;

/// What running a configuration for a while showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trial {
    /// Time of each stage for a frame.
    pub stage_times: Vec<Nanoseconds>,
    /// Time of each layer where it ran; empty if only stages can be timed.
    pub layer_times: Vec<Nanoseconds>,
    /// Time between two frames.
    pub period: Nanoseconds,
    /// How long the trial took.
    pub spent: Nanoseconds,
}

impl Trial {
    /// The slowest stage.
    pub(crate) fn bottleneck(&self) -> usize {
        (0..self.stage_times.len()).max_by_key(|&stage| self.stage_times[stage]).unwrap_or_default()
    }
}

/// Measures configurations: a running engine, a simulator, or a database.
pub trait Oracle<Configuration> {
    /// Runs a configuration for a while.
    ///
    /// # Errors
    /// [`TuneError::Oracle`] if it can't be run.
    fn measure(&mut self, configuration: &Configuration) -> Result<Trial, TuneError>;
}

impl<Configuration, O: Oracle<Configuration> + ?Sized> Oracle<Configuration> for &mut O {
    fn measure(&mut self, configuration: &Configuration) -> Result<Trial, TuneError> {
        (**self).measure(configuration)
    }
}
