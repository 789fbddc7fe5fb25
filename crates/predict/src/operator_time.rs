//! What an operator takes, and how sure that is.

/// Standard deviations within which nine in ten values lie.
pub(crate) const NINE_IN_TEN: f64 = 1.645;

/// What an operator takes, by a trace or by a model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct OperatorTime {
    pub(crate) seconds: f64,
    /// Nine in ten true times are within this, relative to the time.
    pub(crate) interval: f64,
}

impl OperatorTime {
    pub(crate) const NONE: Self = Self { seconds: 0.0, interval: 0.0 };
}

/// The sum of the times.
pub(crate) fn total_seconds(times: &[OperatorTime]) -> f64 {
    times.iter().map(|time| time.seconds).sum()
}
