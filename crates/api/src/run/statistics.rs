//! What is known of the frames of a run, in memory that does not depend on how many there are.

use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use crate::error::Error;
use crate::measuring::steady::Ends;
use crate::run::LatencySummary;
use crate::run::frame_deadline::FrameDeadline;
use crate::run::taken::Taken;

/// Significant digits of times of frames: they are within 0.1 %.
const DIGITS: u8 = 3;

/// Times of frames.
pub(crate) struct Latencies {
    histogram: Histogram<u64>,
    longest: Duration,
}

impl Latencies {
    pub(crate) fn new() -> Result<Self, Error> {
        let histogram = Histogram::new(DIGITS).map_err(|error| Error::Defect(error.to_string()))?;
        Ok(Self { histogram, longest: Duration::ZERO })
    }

    pub(crate) fn record(&mut self, latency: Duration) {
        self.longest = self.longest.max(latency);
        // Times beyond half of what 64 bits hold do not occur; recording them would be an error.
        let nanoseconds = u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX).min(u64::MAX / 4);
        let _ = self.histogram.record(nanoseconds);
    }

    /// The least times, within 0.1 %, that so many of the frames did not exceed; the longest one is exact.
    pub(crate) fn summary(&self) -> LatencySummary {
        let longest = self.longest.as_secs_f64();
        let quantile = |share: f64| (self.histogram.value_at_quantile(share) as f64 * 1e-9).min(longest);
        LatencySummary {
            p50_seconds: quantile(0.5),
            p90_seconds: quantile(0.9),
            p99_seconds: quantile(0.99),
            max_seconds: longest,
        }
    }
}

/// What is known of the frames that came out. Times are of those with results.
pub(crate) struct FrameStatistics {
    deadline: Option<FrameDeadline>,
    pub(crate) frames: u64,
    /// Others, without results.
    pub(crate) failed: u64,
    /// Those of `frames` that took longer than the deadline.
    pub(crate) late: u64,
    pub(crate) latencies: Latencies,
    ends: Ends,
    last_submitted: Option<Instant>,
}

impl FrameStatistics {
    /// Of frames of which no more than so many are in the engine at once.
    pub(crate) fn new(deadline: Option<FrameDeadline>, most_in_flight: usize) -> Result<Self, Error> {
        Ok(Self {
            deadline,
            frames: 0,
            failed: 0,
            late: 0,
            latencies: Latencies::new()?,
            ends: Ends::new(most_in_flight),
            last_submitted: None,
        })
    }

    /// Adds the next frame.
    pub(crate) fn add(&mut self, taken: &Taken) {
        if taken.failure.is_some() {
            self.failed += 1;
            return;
        }
        self.frames += 1;
        self.late += u64::from(self.deadline.is_some_and(|deadline| deadline.is_missed_by(taken)));
        self.latencies.record(taken.latency());
        if let Some(span) = taken.result.spans.last() {
            self.ends.push(span.end);
        }
        self.last_submitted = Some(taken.result.submitted);
    }

    /// Whether no frame came out.
    pub(crate) fn is_empty(&self) -> bool {
        self.frames + self.failed == 0
    }

    /// Mean time between the ends of frames while they flow through so many workers.
    pub(crate) fn period(&self, workers: usize) -> Option<Duration> {
        self.ends.clone().interval(workers, self.last_submitted?)
    }

    /// The longest that a frame may take.
    pub(crate) fn deadline_seconds(&self) -> Option<f64> {
        self.deadline.map(|deadline| deadline.seconds)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use millstream_runtime::{FrameResult, StageSpan};
    use millstream_schedule::StageId;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn quantiles_are_within_a_thousandth_of_those_of_all_times(
            nanoseconds in prop::collection::vec(1_u64..10_000_000_000, 1..400),
        ) {
            let mut latencies = Latencies::new().unwrap();
            nanoseconds.iter().for_each(|&time| latencies.record(Duration::from_nanos(time)));
            let exact = LatencySummary::of(nanoseconds.iter().map(|&time| Duration::from_nanos(time).as_secs_f64()).collect());
            let found = latencies.summary();
            let pairs = [
                (found.p50_seconds, exact.p50_seconds),
                (found.p90_seconds, exact.p90_seconds),
                (found.p99_seconds, exact.p99_seconds),
            ];
            for (found, exact) in pairs {
                prop_assert!((found / exact - 1.0).abs() <= 1e-3, "{found} for {exact}");
            }
            prop_assert_eq!(found.max_seconds, exact.max_seconds);
            let order = [found.p50_seconds, found.p90_seconds, found.p99_seconds, found.max_seconds];
            prop_assert!(order.is_sorted());
        }
    }

    /// Two stages of 2 ms, with 3 ms of waiting before each.
    #[test]
    fn deadlines_count_queues_where_they_were_planned_with_them() {
        let begin = Instant::now();
        let at = |milliseconds: u64| begin + Duration::from_millis(milliseconds);
        let span = |stage: usize, start: u64| StageSpan {
            stage: StageId::new(stage),
            replica: 0,
            start: at(start),
            end: at(start + 2),
        };
        let result = FrameResult {
            sequence: 0,
            outcome: Ok(Vec::new()),
            submitted: at(0),
            received: at(10),
            spans: vec![span(0, 3), span(1, 8)],
            steps: Vec::new(),
        };
        let taken = Taken { result, label: "a".to_owned(), arrived: at(0), failure: None };
        for (seconds, counts_queues, is_late) in
            [(0.0039, false, true), (0.0041, false, false), (0.0099, true, true), (0.0101, true, false)]
        {
            let deadline = FrameDeadline { seconds, counts_queues };
            let mut statistics = FrameStatistics::new(Some(deadline), 1).unwrap();
            statistics.add(&taken);
            assert_eq!(statistics.late, u64::from(is_late), "{deadline:?}");
        }
    }

    #[test]
    fn without_frames_there_are_no_times() {
        assert_eq!(Latencies::new().unwrap().summary(), LatencySummary::default());
    }
}
