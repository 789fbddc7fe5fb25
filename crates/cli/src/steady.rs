//! The rate of a pipeline while frames flow.

use std::time::{Duration, Instant};

/// Mean time between the ends of frames, without the time that the pipeline needs to fill at first (as many frames as it has
/// workers) and to drain after no more frames came (`stop`). With too few frames for that, all of them count; `None` for
/// fewer than two.
pub(crate) fn interval(mut ends: Vec<Instant>, workers: usize, stop: Instant) -> Option<Duration> {
    ends.sort_unstable();
    let settled = ends.get(workers..).unwrap_or_default();
    let steady = &settled[..settled.partition_point(|&end| end <= stop)];
    mean(steady).or_else(|| mean(&ends))
}

fn mean(ends: &[Instant]) -> Option<Duration> {
    let time = ends.last()?.duration_since(*ends.first()?);
    time.checked_div(u32::try_from(ends.len()).ok()? - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filling_and_draining_do_not_count() {
        let begin = Instant::now();
        let at = |milliseconds: &[u64]| milliseconds.iter().map(|&ms| begin + Duration::from_millis(ms)).collect();
        let stop = begin + Duration::from_millis(60);
        let measured = |ends: &[u64]| interval(at(ends), 2, stop).map(|time| time.as_millis());
        assert_eq!(measured(&[15, 22, 30, 40, 50, 60, 90]), Some(10));
        assert_eq!(measured(&[20, 70]), Some(50));
        assert_eq!(measured(&[20]), None);
        assert_eq!(measured(&[]), None);
    }
}
