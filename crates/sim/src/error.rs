//! Why something could not be simulated.

use millstream_schedule::ScheduleError;
use thiserror::Error;

/// Why nothing could be simulated.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SimulationError {
    /// A schedule can't be evaluated.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    /// A temperature can't be simulated without the power of its cluster.
    #[error(
        "the power of cluster '{cluster}' is not known, so its temperature can't be simulated; give the board file its power and the voltages of its operating points"
    )]
    UnknownPower {
        /// Label of the cluster.
        cluster: String,
    },
    /// A condition that makes no sense.
    #[error("{what} is {value}: it must be {expected}")]
    Condition {
        /// The condition, in words.
        what: String,
        /// Its value.
        value: f64,
        /// What it should be, in words.
        expected: &'static str,
    },
    /// The caller ended the simulation.
    #[error("the simulation was ended")]
    Cancelled,
}
