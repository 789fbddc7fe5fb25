//! When a frame is late.

use crate::run::taken::Taken;

/// The longest that a frame may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FrameDeadline {
    pub(crate) seconds: f64,
    /// Whether waiting in queues counts. Where several networks have processors of their own, they were planned without
    /// it.
    pub(crate) counts_queues: bool,
}

impl FrameDeadline {
    pub(crate) fn is_missed_by(&self, taken: &Taken) -> bool {
        let time = if self.counts_queues { taken.latency() } else { taken.time_in_stages() };
        time.as_secs_f64() > self.seconds
    }
}
