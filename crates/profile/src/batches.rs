//! Frame times in batches longer than the system's time slices, and how exact their means are.

use std::time::Duration;

use millstream_board::Board;
use millstream_predict::Statistics;

/// A batch takes at least this long: long enough for a core that is shared with other load to take part in several of
/// the system's time slices, so that the batch's mean is the share it really gets.
const BATCH: Duration = Duration::from_millis(25);
/// The same for a core that is known to be shared.
const SHARED_CORE_BATCH: Duration = Duration::from_millis(90);
/// The same in a container with a quota: its threads wait once in each period, of a tenth of a second as a rule.
pub(crate) const QUOTA_BATCH: Duration = Duration::from_millis(300);
/// Batches before a verdict on their spread.
const FEWEST_BATCHES: usize = 5;
/// Enough is enough.
const MOST_BATCHES: usize = 40;

/// Times of frames, gathered into batches whose means are the measurements.
#[derive(Debug, Clone)]
pub struct BatchedTimes {
    length: Duration,
    current: Duration,
    frames: u32,
    means: Vec<f64>,
}

impl BatchedTimes {
    /// No times yet, of frames on a cluster of a board, or on one of its accelerators.
    pub fn new(board: &Board, cluster: &str) -> Self {
        let length = match (board.is_slowed(cluster), board.quota_cores()) {
            (true, Some(_)) => QUOTA_BATCH,
            (true, None) => SHARED_CORE_BATCH,
            (false, _) => BATCH,
        };
        Self { length, current: Duration::ZERO, frames: 0, means: Vec::new() }
    }

    /// Adds the time of one frame.
    pub fn push(&mut self, time: Duration) {
        self.current += time;
        self.frames += 1;
        if self.current >= self.length {
            self.means.push(self.current.as_secs_f64() / f64::from(self.frames));
            self.current = Duration::ZERO;
            self.frames = 0;
        }
    }

    /// The summary; an unfinished batch counts only if there is no other. `None` without any time.
    pub fn statistics(&self) -> Option<Statistics> {
        if self.means.is_empty() && self.frames > 0 {
            return Statistics::of(&[self.current.as_secs_f64() / f64::from(self.frames)]);
        }
        Statistics::of(&self.means)
    }

    /// Whether more batches would hardly change the result: the standard error is below `accuracy`, relative to the
    /// median.
    pub fn is_settled(&self, accuracy: f64) -> bool {
        self.means.len() >= MOST_BATCHES
            || self.means.len() >= FEWEST_BATCHES
                && self.statistics().is_some_and(|statistics| {
                    statistics.standard_error_seconds() <= accuracy * statistics.median_seconds
                })
    }

    /// Adds the batches of another processor of the same class.
    pub(crate) fn merge(&mut self, other: Self) {
        if other.means.is_empty() {
            self.current += other.current;
            self.frames += other.frames;
        }
        self.means.extend(other.means);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_of_batches_see_the_share_of_a_core() {
        // One frame in three is preempted for ten times its own time.
        let mut times = BatchedTimes::new(&millstream_test_support::board("B1"), "B");
        for index in 0..600 {
            times.push(Duration::from_millis(if index % 3 == 0 { 11 } else { 1 }));
        }
        let statistics = times.statistics().unwrap();
        assert!((statistics.median_seconds / (13e-3 / 3.0) - 1.0).abs() < 0.25, "{statistics:?}");
        assert!(times.is_settled(0.05));
    }

    /// Thirty milliseconds of work at a time, and after each seventy of them thirty of waiting.
    #[test]
    fn waiting_for_a_quota_is_part_of_what_frames_take() {
        let board = millstream_test_support::board("B1+G");
        let median = |board: &Board, label: &str| {
            let mut times = BatchedTimes::new(board, label);
            let (mut work, mut waits) = (0, 0);
            for _ in 0..500 {
                work += 30;
                let waited = work / 70 - waits;
                waits += waited;
                times.push(Duration::from_millis(30 + 30 * waited));
            }
            times.statistics().unwrap().median_seconds
        };
        let limited = board.with_quota(0.7).unwrap();
        let error = |seconds: f64| (seconds / (30e-3 / 0.7) - 1.0).abs();
        assert!(error(median(&limited, "B")) < 0.02, "{}", median(&limited, "B"));
        let slowed = board.with_slowdown(&[(millstream_board::CoreId(0), 3.0)]).unwrap();
        for short in [median(&board, "B"), median(&limited, "G"), median(&slowed, "B")] {
            assert!(error(short) > 0.04, "batches end before they have waited as often as others: {short}");
        }
    }

    #[test]
    fn an_unfinished_batch_is_better_than_nothing() {
        let mut times = BatchedTimes::new(&millstream_test_support::board("B1"), "B");
        assert!(times.statistics().is_none());
        times.push(Duration::from_micros(10));
        times.push(Duration::from_micros(20));
        assert!((times.statistics().unwrap().median_seconds - 15e-6).abs() < 1e-12);
        assert!(!times.is_settled(1.0));
    }
}
