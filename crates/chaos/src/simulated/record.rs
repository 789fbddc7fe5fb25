//! What happened in a simulation.

use std::time::{Duration, Instant};

use millstream_runtime::{FrameResult, RuntimeError};

/// What happened.
#[derive(Default)]
pub(crate) struct Record {
    pub(crate) results: Vec<FrameResult>,
    /// The number of the frame of each position in the sequence.
    pub(crate) numbers: Vec<(u64, u64)>,
    /// Why replacements of the schedule were refused.
    pub(crate) refused: Vec<RuntimeError>,
    pub(crate) replaced: usize,
    pub(crate) did_not_start: Option<RuntimeError>,
    pub(crate) time_to_drop: Duration,
    /// The threads that there are when nothing is left to do, and how many there may be.
    pub(crate) at_rest: Option<(Vec<String>, usize)>,
    pub(crate) violations: Vec<String>,
    pub(crate) warnings: Vec<String>,
}

/// The longest time without a result.
pub(crate) fn longest_silence(results: &[FrameResult]) -> Duration {
    let silence = |pair: &[FrameResult]| pair[1].received.duration_since(pair[0].received);
    let before = results.first().map(|first| first.received.duration_since(first.submitted));
    results.windows(2).map(silence).chain(before).max().unwrap_or_default()
}

/// The longest time from a result to the next one that is a success.
pub(crate) fn longest_gap(results: &[FrameResult]) -> Duration {
    let mut last: Option<Instant> = None;
    let mut longest = Duration::ZERO;
    for result in results {
        if result.outcome.is_ok() {
            longest = longest.max(last.map_or(Duration::ZERO, |last| result.received.duration_since(last)));
            last = None;
        } else {
            last.get_or_insert(result.received);
        }
    }
    longest
}
