//! When an engine looks for a better schedule, and what a better one is.

use std::time::Duration;

use millstream_schedule::Schedule;

use crate::tuning::Observation;

/// What a schedule is to be good at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Goal {
    /// A short time between two frames.
    #[default]
    Throughput,
    /// A short time of each frame.
    Latency,
    /// Both: a small product.
    Balanced,
}

impl Goal {
    /// How well a schedule does: shorter is better. For both together, their geometric mean.
    pub fn measure(self, period: Duration, latency: Duration) -> Duration {
        match self {
            Self::Throughput => period,
            Self::Latency => latency,
            Self::Balanced => Duration::from_secs_f64((period.as_secs_f64() * latency.as_secs_f64()).sqrt()),
        }
    }
}

/// Proposes schedules while frames flow.
pub trait Planner: Send {
    /// The schedule to try next, given what the one at work shows; `None` if no other promises to be better.
    ///
    /// # Errors
    /// Whatever keeps it from searching.
    fn propose(&mut self, seen: &Observation) -> Result<Option<Schedule>, Box<dyn std::error::Error + Send + Sync>>;

    /// Conditions changed: what was learnt so far holds no longer.
    fn forget(&mut self);
}

/// When an engine looks for a better schedule, and how far it goes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TuningPolicy {
    /// What makes a schedule better.
    pub goal: Goal,
    /// How long a schedule is watched to learn its times.
    pub window: Duration,
    /// Frames that every replica must have worked on within that; else the window is longer.
    pub frames: u64,
    /// Relative change of a stage's time or a core's clock, or change of the part of a core that others use, that is
    /// taken for a change of conditions. It must show twice in a row.
    pub drift: f64,
    /// The most schedules that are tried after a change.
    pub trials: usize,
    /// A schedule must be better than what was there by this, relatively, to replace it.
    pub gain: f64,
    /// Whether to look for a better schedule at once, without waiting for a change.
    pub at_once: bool,
}

impl Default for TuningPolicy {
    fn default() -> Self {
        Self {
            goal: Goal::Throughput,
            window: Duration::from_secs(1),
            frames: 10,
            drift: 0.2,
            trials: 5,
            gain: 0.02,
            at_once: false,
        }
    }
}
