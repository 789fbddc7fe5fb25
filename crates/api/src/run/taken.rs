//! A frame that came out, with what it showed.

use std::time::{Duration, Instant};

use millstream_runtime::FrameResult;

/// A result without its tensors.
#[derive(Debug)]
pub struct Taken {
    /// When and where it was worked on.
    pub result: FrameResult,
    /// What the frame is called.
    pub label: String,
    /// When the frame arrived, which is before it was submitted if it had to wait for room.
    pub arrived: Instant,
    /// Why the frame failed, if it did.
    pub failure: Option<String>,
}

impl Taken {
    /// From the frame's arrival to its result.
    pub fn latency_seconds(&self) -> f64 {
        self.latency().as_secs_f64()
    }

    /// The same.
    pub(crate) fn latency(&self) -> Duration {
        self.result.received.saturating_duration_since(self.arrived)
    }

    /// How long stages worked on the frame, waiting in queues left out.
    pub(crate) fn time_in_stages(&self) -> Duration {
        self.result.spans.iter().map(|span| span.end.saturating_duration_since(span.start)).sum()
    }
}
