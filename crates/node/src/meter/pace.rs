//! How long measuring takes.

use std::time::Duration;

/// How long and how often things are measured and awaited.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// How long each size is measured at least.
    pub each: Duration,
    /// How many messages of each size are measured at least.
    pub least: usize,
    /// How long the answer to a small message may take before it counts as lost; larger ones have longer.
    pub patience: Duration,
    /// How long the other end may take to begin.
    pub begin: Duration,
    /// How many messages may be lost in all.
    pub most_lost: usize,
    /// Whether the way is measured while all cores of both ends have something else to do as well.
    pub is_busy_too: bool,
}

impl Default for Pace {
    /// Six sizes in two directions, twice: about 20 s.
    fn default() -> Self {
        Self {
            each: Duration::from_millis(300),
            least: 8,
            patience: Duration::from_secs(2),
            begin: Duration::from_secs(60),
            most_lost: 100,
            is_busy_too: true,
        }
    }
}
