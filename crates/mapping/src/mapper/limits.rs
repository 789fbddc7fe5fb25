//! When mappers stop: limits that callers set.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use millstream_cost::Nanoseconds;

/// How many steps a core does in a second, about.
pub const STEPS_PER_SECOND: u64 = 10_000_000;

/// When a mapper should stop.
#[derive(Debug, Clone, Copy)]
pub struct MapperLimits<'a> {
    /// Steps for one problem, for each thread that works on it. A step is about what starting one node takes; it is
    /// counted, not measured, so that the result is the same on every machine, however busy. A core does about
    /// [`STEPS_PER_SECOND`].
    pub steps: u64,
    /// Wall-clock time for the published integer programs, where they are asked for by themselves: their solver knows
    /// no steps. Nothing else looks at the clock.
    pub program_time: Duration,
    /// A relative gap that is small enough.
    pub gap: f64,
    /// A gap that is small enough whatever the makespan: shorter than what anybody can measure.
    pub slack: Nanoseconds,
    /// Set by the caller to stop early.
    pub cancelled: Option<&'a AtomicBool>,
}

impl Default for MapperLimits<'_> {
    fn default() -> Self {
        Self {
            steps: 10 * STEPS_PER_SECOND,
            program_time: Duration::from_secs(10),
            gap: 0.0,
            slack: Nanoseconds::ZERO,
            cancelled: None,
        }
    }
}
