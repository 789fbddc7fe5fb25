//! Trials of configurations, and the interface of what runs them.

use millstream_board::CoreId;
use millstream_cost::Nanoseconds;

use crate::error::TuneError;

/// The result of running a configuration for a while.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Trial {
    /// Time of each stage for a frame; one per replica, stage by stage, where stages have several.
    pub stage_times: Vec<Nanoseconds>,
    /// Time of each layer where it ran; empty if only stages can be timed.
    pub layer_times: Vec<Nanoseconds>,
    /// Time between two frames.
    pub period: Nanoseconds,
    /// Fraction of each core that a thread of ours gets; cores of which nothing is known are left out.
    pub available: Vec<(CoreId, f64)>,
    /// How long the trial took.
    pub spent: Nanoseconds,
}

impl Trial {
    /// The slowest stage.
    pub(crate) fn bottleneck(&self) -> usize {
        (0..self.stage_times.len()).max_by_key(|&stage| self.stage_times[stage]).unwrap_or_default()
    }
}

impl AsRef<Self> for Trial {
    fn as_ref(&self) -> &Self {
        self
    }
}

/// Measures configurations: a running engine, a simulator, or a database. It may see more than a [`Trial`] holds.
pub trait Oracle<Configuration, Seen = Trial> {
    /// Runs a configuration for a while.
    ///
    /// # Errors
    /// [`TuneError::Oracle`] if it can't be run.
    fn measure(&mut self, configuration: &Configuration) -> Result<Seen, TuneError>;
}

impl<Configuration, Seen, O: Oracle<Configuration, Seen> + ?Sized> Oracle<Configuration, Seen> for &mut O {
    fn measure(&mut self, configuration: &Configuration) -> Result<Seen, TuneError> {
        (**self).measure(configuration)
    }
}
