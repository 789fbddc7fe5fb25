//! What is known of an operator's time on a processor.

use crate::nanoseconds::Nanoseconds;

/// Where an entry comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// Runs of this very network were measured on this processor.
    Measured,
    /// A model fitted to other measurements predicts it.
    Model,
    /// Set by the caller that made the table.
    Given,
}

/// Time of an operator on a processor, and how sure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CostEntry {
    /// The time.
    pub time: Nanoseconds,
    /// The lower end of the interval in which nine in ten true times lie.
    pub low: Nanoseconds,
    /// The upper end of that interval.
    pub high: Nanoseconds,
    /// Where it comes from.
    pub origin: Origin,
}

impl CostEntry {
    /// A time that is taken as given.
    pub fn given(time: Nanoseconds) -> Self {
        Self { time, low: time, high: time, origin: Origin::Given }
    }
}
