//! What searches for fronts minimize: latency first, and then period.

use millstream_cost::Nanoseconds;

/// Latency and period of a pipeline of some first blocks, or of a stage; compared in that order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LatencyPeriod {
    pub(crate) latency: Nanoseconds,
    pub(crate) period: Nanoseconds,
}

impl LatencyPeriod {
    /// Of no stage at all.
    pub(crate) const ZERO: Self = Self { latency: Nanoseconds::ZERO, period: Nanoseconds::ZERO };
    /// Of a state that no pipeline leads to; above all others.
    pub(crate) const UNREACHED: Self = Self { latency: Nanoseconds(u64::MAX), period: Nanoseconds(u64::MAX) };

    /// Those of a pipeline with one more stage.
    #[inline]
    pub(crate) fn followed_by(self, stage: Self) -> Self {
        Self { latency: self.latency + stage.latency, period: self.period.max(stage.period) }
    }
}
