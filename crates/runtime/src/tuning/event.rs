//! What happens while an engine is tuned.

use std::fmt;
use std::time::Duration;

/// Something that happened while an engine was tuned.
#[derive(Debug, Clone, PartialEq)]
pub struct TuningEvent {
    /// When, since tuning began.
    pub at: Duration,
    /// What.
    pub kind: TuningEventKind,
}

/// What happened.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum TuningEventKind {
    /// Conditions changed.
    Drift {
        /// What was seen of it.
        reason: String,
        /// Period of the schedule at work, now.
        period: Duration,
    },
    /// A schedule was tried.
    Trial {
        /// The schedule.
        configuration: String,
        /// Its period.
        period: Duration,
    },
    /// A schedule was tried and could not be started.
    Refused {
        /// The schedule.
        configuration: String,
        /// Why.
        reason: String,
    },
    /// The search ended, and this schedule stays.
    Settled {
        /// The schedule.
        configuration: String,
        /// Its period.
        period: Duration,
    },
}

impl fmt::Display for TuningEvent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let milliseconds = |period: &Duration| format!("{:.2} ms", 1e3 * period.as_secs_f64());
        write!(formatter, "{:.1} s: ", self.at.as_secs_f64())?;
        match &self.kind {
            TuningEventKind::Drift { reason, period } => {
                write!(formatter, "{reason}; a frame every {}", milliseconds(period))
            }
            TuningEventKind::Trial { configuration, period } => {
                write!(formatter, "tried {configuration}: a frame every {}", milliseconds(period))
            }
            TuningEventKind::Refused { configuration, reason } => {
                write!(formatter, "could not try {configuration}: {reason}")
            }
            TuningEventKind::Settled { configuration, period } => {
                write!(formatter, "goes on with {configuration}: a frame every {}", milliseconds(period))
            }
        }
    }
}
