//! What stages and replicas did: frames, failures and times.

use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use crate::sync::{Mutex, lock};

/// What one stage did since the engine started or its metrics were last reset.
#[derive(Debug, Clone)]
pub struct StageMetrics {
    /// One per replica.
    pub replicas: Vec<ReplicaMetrics>,
}

/// What one replica did.
#[derive(Debug, Clone)]
pub struct ReplicaMetrics {
    /// Frames that it worked on.
    pub frames: u64,
    /// Frames that failed in it.
    pub failures: u64,
    /// How often it was prepared again after it was lost.
    pub restarts: u64,
    /// Times of single frames that did not fail, in nanoseconds.
    pub nanoseconds: Histogram<u64>,
    /// Sum of these times.
    pub sound: Duration,
    /// Sum of the times of all frames.
    pub busy: Duration,
    /// Sum of the times that frames waited in the queue before this replica took them.
    pub queue_wait: Duration,
    /// How long each of the replica's processors worked, in the order of its assignments.
    pub processor_busy: Vec<Duration>,
    /// From the first frame's start to the last frame's end.
    pub active: Duration,
}

impl StageMetrics {
    /// Mean time of a frame in the slowest replica.
    pub fn slowest_mean(&self) -> Duration {
        self.replicas.iter().map(ReplicaMetrics::mean).max().unwrap_or_default()
    }
}

impl ReplicaMetrics {
    /// Median time of a frame that did not fail.
    pub fn median(&self) -> Duration {
        Duration::from_nanos(self.nanoseconds.value_at_quantile(0.5))
    }

    /// Mean time of a frame that did not fail.
    pub fn mean(&self) -> Duration {
        mean(self.sound, self.nanoseconds.len())
    }

    /// Mean time that a frame waited in the queue.
    pub fn mean_queue_wait(&self) -> Duration {
        mean(self.queue_wait, self.frames)
    }

    /// Fraction of the active time that was spent working.
    pub fn utilisation(&self) -> f64 {
        if self.active.is_zero() { 0.0 } else { self.busy.as_secs_f64() / self.active.as_secs_f64() }
    }
}

/// Also of more frames than 32 bits can count.
fn mean(sum: Duration, frames: u64) -> Duration {
    let nanoseconds = sum.as_nanos().checked_div(u128::from(frames)).unwrap_or_default();
    Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
}

/// Counts for one worker; only that worker writes, so the lock is never contended while frames flow.
pub(crate) struct Recorder(Mutex<Record>);

struct Record {
    frames: u64,
    failures: u64,
    restarts: u64,
    nanoseconds: Histogram<u64>,
    sound: Duration,
    busy: Duration,
    queue_wait: Duration,
    first_start: Option<Instant>,
    last_end: Option<Instant>,
}

impl Record {
    fn new() -> Self {
        Self {
            frames: 0,
            failures: 0,
            restarts: 0,
            // Three significant digits, growing with the times that occur.
            nanoseconds: Histogram::new(3).unwrap_or_else(|_| unreachable!("3 digits are within 0..=5")),
            sound: Duration::ZERO,
            busy: Duration::ZERO,
            queue_wait: Duration::ZERO,
            first_start: None,
            last_end: None,
        }
    }
}

impl Recorder {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Record::new()))
    }

    pub(crate) fn record(&self, queued: Instant, start: Instant, end: Instant, failed: bool) {
        let mut record = lock(&self.0);
        let time = end.duration_since(start);
        record.frames += 1;
        record.failures += u64::from(failed);
        if !failed {
            // Times beyond half of what 64 bits hold do not occur; recording them would be an error.
            let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX).min(u64::MAX / 4);
            let _ = record.nanoseconds.record(nanoseconds);
            record.sound += time;
        }
        record.busy += time;
        record.queue_wait += start.saturating_duration_since(queued);
        record.first_start.get_or_insert(start);
        record.last_end = Some(end);
    }

    /// Counts a frame that was given up in the middle of the work.
    pub(crate) fn record_failure(&self) {
        let mut record = lock(&self.0);
        record.frames += 1;
        record.failures += 1;
    }

    pub(crate) fn record_restart(&self) {
        lock(&self.0).restarts += 1;
    }

    pub(crate) fn reset(&self) {
        *lock(&self.0) = Record::new();
    }

    pub(crate) fn metrics(&self, processor_busy: Vec<Duration>) -> ReplicaMetrics {
        let record = lock(&self.0);
        let active = record.first_start.zip(record.last_end).map(|(start, end)| end.duration_since(start));
        ReplicaMetrics {
            frames: record.frames,
            failures: record.failures,
            restarts: record.restarts,
            nanoseconds: record.nanoseconds.clone(),
            sound: record.sound,
            busy: record.busy,
            queue_wait: record.queue_wait,
            processor_busy,
            active: active.unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_that_failed_have_no_part_in_mean_and_median() {
        let recorder = Recorder::new();
        let begin = Instant::now();
        for (milliseconds, failed) in [(4, false), (5000, true), (6, false), (0, true)] {
            recorder.record(begin, begin, begin + Duration::from_millis(milliseconds), failed);
        }
        recorder.record_failure();
        let metrics = recorder.metrics(Vec::new());
        assert_eq!((metrics.frames, metrics.failures, metrics.mean()), (5, 3, Duration::from_millis(5)));
        assert_eq!(metrics.busy, Duration::from_millis(5010));
    }

    #[test]
    fn the_median_is_a_time_that_occurred() {
        let recorder = Recorder::new();
        let begin = Instant::now();
        for milliseconds in [3, 900, 5, 4, 7] {
            recorder.record(begin, begin, begin + Duration::from_millis(milliseconds), false);
        }
        let median = recorder.metrics(Vec::new()).median().as_secs_f64();
        assert!((median / 5e-3 - 1.0).abs() < 2e-3, "{median}");
    }
}
