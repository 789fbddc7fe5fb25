use millstream_schedule::ScheduleError;
use thiserror::Error;

/// Why nothing could be simulated.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SimulationError {
    /// A schedule can't be evaluated.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    /// Temperatures follow from power.
    #[error(
        "the power of cluster '{cluster}' is not known, so its temperature can't be simulated; give the board file its power and the voltages of its operating points"
    )]
    UnknownPower {
        /// The cluster.
        cluster: String,
    },
    /// A condition that makes no sense.
    #[error("{what} is {value}: it must be {expected}")]
    Condition {
        /// Which one.
        what: String,
        /// What it is.
        value: f64,
        /// What it should be.
        expected: &'static str,
    },
    /// The caller ended it.
    #[error("the simulation was ended")]
    Cancelled,
}
