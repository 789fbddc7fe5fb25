//! The rate of a pipeline while frames flow.

use std::time::{Duration, Instant};

/// Mean time between the ends of frames, without the time that the pipeline needs to fill at first (as many frames as it has
/// workers) and to drain after no more frames came (`stop`). With too few frames for that, all of them count; `None` if
/// even those are too few.
///
/// Replicas of equal speed finish in bursts, so only whole rounds of all workers are counted.
pub(crate) fn interval(mut ends: Vec<Instant>, workers: usize, stop: Instant) -> Option<Duration> {
    ends.sort_unstable();
    let settled = ends.get(workers..).unwrap_or_default();
    let steady = &settled[..settled.partition_point(|&end| end <= stop)];
    mean(steady, workers).or_else(|| mean(&ends, workers)).or_else(|| mean(&ends, 1))
}

fn mean(ends: &[Instant], workers: usize) -> Option<Duration> {
    let intervals = ends.len().checked_sub(1)?;
    let counted = intervals - intervals % workers.max(1);
    let time = ends.get(counted)?.duration_since(*ends.first()?);
    time.checked_div(u32::try_from(counted).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(ends: &[u64], workers: usize) -> Option<u128> {
        let begin = Instant::now();
        let ends = ends.iter().map(|&milliseconds| begin + Duration::from_millis(milliseconds)).collect();
        interval(ends, workers, begin + Duration::from_millis(60)).map(|time| time.as_millis())
    }

    #[test]
    fn filling_and_draining_do_not_count() {
        assert_eq!(measured(&[15, 22, 30, 40, 50, 60, 90], 1), Some(9));
        assert_eq!(measured(&[15, 22, 30, 40, 50, 60, 90], 2), Some(10));
        assert_eq!(measured(&[20, 70], 1), Some(50));
        assert_eq!(measured(&[20], 1), None);
        assert_eq!(measured(&[], 1), None);
    }

    #[test]
    fn bursts_of_replicas_count_as_a_whole() {
        assert_eq!(measured(&[10, 11, 30, 31, 50, 51], 2), Some(10));
        // Too short for the steady part: the pairs at 30 and 50, of which the second ends after the stop.
        assert_eq!(measured(&[30, 31, 90, 91], 2), Some(30));
    }
}
