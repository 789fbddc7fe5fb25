//! The rate of a pipeline while frames flow.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::time::{Duration, Instant};

use millstream_runtime::StageSpan;

/// Ends that are kept at the beginning and at the end of a stream, beside those of frames that are in the engine at
/// once.
const KEPT: usize = 1024;

/// Mean time between the ends of frames, without the time that the pipeline needs to fill at first (as many frames as
/// it has workers) and to drain after no more frames came (`stop`). With too few frames for that, all of them count;
/// `None` if even those are too few.
///
/// Replicas of equal speed finish in bursts, so only whole rounds of all workers are counted.
pub(crate) fn interval(mut first: Vec<Instant>, workers: usize, stop: Instant) -> Option<Duration> {
    first.sort_unstable();
    let count = first.len();
    Ends { window: count, early: BinaryHeap::new(), first, last: VecDeque::new(), count }.interval(workers, stop)
}

/// When the frames of a short stream ended, by the replicas of the last stage.
#[derive(Debug, Default)]
pub(crate) struct ReplicaEnds {
    replicas: BTreeMap<usize, Vec<Instant>>,
    has_more_stages: bool,
}

impl ReplicaEnds {
    /// Adds the end of a frame that went through these stages.
    pub(crate) fn add(&mut self, spans: &[StageSpan]) {
        if let Some(last) = spans.last() {
            self.replicas.entry(last.replica).or_default().push(last.end);
            self.has_more_stages |= spans.len() > 1;
        }
    }

    /// Mean time between the ends of frames. Where there is one stage, and all its replicas had frames waiting until
    /// `stop` (`is_full`), each counts with its own time, and what they pass is added up. Replicas that take unlike times
    /// are not done with a frame at the same moment, and of the few that slow networks have in a short time, a frame
    /// more or less is a good part. Otherwise, or where one has too few, as [`interval`] says.
    pub(crate) fn interval(self, workers: usize, stop: Instant, is_full: bool) -> Option<Duration> {
        let of_replicas = || self.interval_of_replicas(workers, stop);
        let of_replicas = if is_full && !self.has_more_stages { of_replicas() } else { None };
        of_replicas.or_else(|| interval(self.replicas.into_values().flatten().collect(), workers, stop))
    }

    /// The last frame of each replica that counts is the first that ended after `stop`: it was begun while others waited.
    /// A replica that stalls counts with its stall, as the instances of rivals do. `None` if one has had fewer than two
    /// of these frames.
    fn interval_of_replicas(&self, workers: usize, stop: Instant) -> Option<Duration> {
        let frames_per_second = |ends: &Vec<Instant>| {
            let mut ends = ends.clone();
            ends.sort_unstable();
            let last = ends.partition_point(|end| *end <= stop).min(ends.len().checked_sub(1)?);
            let time = ends[last].duration_since(ends[0]).as_secs_f64();
            (time > 0.0).then(|| last as f64 / time)
        };
        let sum: f64 = self.replicas.values().map(frames_per_second).sum::<Option<f64>>()?;
        Duration::try_from_secs_f64(1.0 / sum).ok().filter(|_| self.replicas.len() == workers)
    }
}

/// When frames ended, as far as [`interval`] needs to know: the first ones and the last ones. They may come out of
/// order by as many as are in the engine at once.
#[derive(Debug, Clone)]
pub(crate) struct Ends {
    /// How many are kept of each kind.
    window: usize,
    /// Those that others may still come before.
    early: BinaryHeap<Reverse<Instant>>,
    /// In order, as are the last.
    first: Vec<Instant>,
    last: VecDeque<Instant>,
    /// How many there are, those that may have others before them left out.
    count: usize,
}

impl Ends {
    /// Of frames of which no more than so many are in the engine at once.
    pub(crate) fn new(most_in_flight: usize) -> Self {
        let window = most_in_flight.saturating_add(KEPT);
        Self { window, early: BinaryHeap::new(), first: Vec::new(), last: VecDeque::new(), count: 0 }
    }

    /// Adds the end of a frame.
    pub(crate) fn push(&mut self, end: Instant) {
        self.early.push(Reverse(end));
        if self.early.len() > self.window {
            self.settle();
        }
    }

    /// Puts the earliest of those that wait in its place.
    fn settle(&mut self) {
        let Some(Reverse(end)) = self.early.pop() else { return };
        self.count += 1;
        if self.first.len() < self.window {
            self.first.push(end);
            return;
        }
        self.last.push_back(end);
        if self.last.len() > self.window {
            self.last.pop_front();
        }
    }

    /// As the function of this name says.
    pub(crate) fn interval(mut self, workers: usize, stop: Instant) -> Option<Duration> {
        while !self.early.is_empty() {
            self.settle();
        }
        let steady = workers..self.before(stop).max(workers);
        self.mean(steady, workers).or_else(|| self.mean(0..self.count, workers)).or_else(|| self.mean(0..self.count, 1))
    }

    /// How many ended by then. No more ended later than were in the engine, and those are kept.
    fn before(&self, stop: Instant) -> usize {
        match self.last.partition_point(|&end| end <= stop) {
            0 => self.first.partition_point(|&end| end <= stop),
            last => self.count - self.last.len() + last,
        }
    }

    fn mean(&self, counted: std::ops::Range<usize>, workers: usize) -> Option<Duration> {
        let intervals = counted.len().checked_sub(1)?;
        let intervals = intervals - intervals % workers.max(1);
        let time = self.get(counted.start.checked_add(intervals)?)?.duration_since(self.get(counted.start)?);
        // A `Duration` is divided by 32 bits only.
        let nanoseconds = time.as_nanos().checked_div(intervals as u128)?;
        Some(Duration::from_nanos(u64::try_from(nanoseconds).ok()?))
    }

    /// The end in this place, if it is kept.
    fn get(&self, place: usize) -> Option<Instant> {
        let after = || place.checked_sub(self.count - self.last.len());
        self.first.get(place).or_else(|| self.last.get(after()?)).copied()
    }
}

#[cfg(test)]
mod tests {
    use millstream_schedule::StageId;
    use proptest::prelude::*;

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

    /// Ends of the replicas of a stage in milliseconds, after one stage before it or none.
    fn replica_ends(stages_before: usize, ends: &[&[u64]], begin: Instant) -> ReplicaEnds {
        let mut all = ReplicaEnds::default();
        for (replica, ends) in ends.iter().enumerate() {
            for &milliseconds in *ends {
                let span = |stage| StageSpan {
                    stage,
                    replica,
                    start: begin,
                    end: begin + Duration::from_millis(milliseconds),
                };
                all.add(&StageId::all(stages_before + 1).map(span).collect::<Vec<_>>());
            }
        }
        all
    }

    #[test]
    fn each_replica_of_one_stage_counts_with_its_own_time() {
        let begin = Instant::now();
        let stop = begin + Duration::from_millis(60);
        let own = |workers: usize, ends: &[&[u64]]| {
            replica_ends(0, ends, begin).interval_of_replicas(workers, stop).map(|time| time.as_micros())
        };
        assert_eq!(own(1, &[&[15, 20, 30, 45]]), Some(10_000));
        // One in 10 ms and one in 40 ms are one in 8 ms, whichever ends at the edges are seen.
        assert_eq!(own(2, &[&[3, 13, 23, 33, 43, 53, 63], &[19, 59, 99]]), Some(8_000));
        assert_eq!(own(2, &[&[9, 19, 29, 39, 49, 59, 69], &[1, 41, 81]]), Some(8_000));
        assert_eq!(own(2, &[&[50, 30, 10], &[60, 20]]), Some(13_333), "in any order");
        assert_eq!(own(2, &[&[3, 13, 23], &[40, 80, 81]]), Some(8_000), "2 in 20 ms and 1 in 40 ms");
        assert_eq!(own(1, &[&[10, 20, 30, 210]]), Some(66_666), "with its stall");
        assert_eq!(own(2, &[&[3, 13, 23], &[70]]), None, "one frame");
        assert_eq!(own(2, &[&[3, 13, 23]]), None, "one replica had none");
        assert_eq!(own(2, &[&[3, 3], &[5, 6]]), None, "no clock is that coarse");
        assert_eq!(own(0, &[]), None);
    }

    #[test]
    fn replicas_that_wait_for_frames_count_together() {
        let begin = Instant::now();
        let stop = begin + Duration::from_millis(60);
        let ends: &[&[u64]] = &[&[5, 25, 35, 55], &[15, 45]];
        let found = |stages_before: usize, workers: usize, is_full: bool| {
            replica_ends(stages_before, ends, begin).interval(workers, stop, is_full).map(|time| time.as_micros())
        };
        assert_eq!(found(0, 2, true), Some(10_714), "3 in 50 ms and 1 in 30 ms");
        for (stages_before, workers, is_full) in [(0, 2, false), (1, 2, true)] {
            assert_eq!(found(stages_before, workers, is_full), Some(10_000));
        }
        let late: &[&[u64]] = &[&[10, 30, 50], &[70]];
        let found = replica_ends(0, late, begin).interval(2, stop, true);
        assert_eq!(found.map(|time| time.as_micros()), Some(20_000), "one of them has too few");
    }

    proptest! {
        /// Frames end in any order among those that are in the engine, and no more than those end after the last one is
        /// submitted.
        #[test]
        fn a_stream_gives_what_all_its_ends_give(
            steps in prop::collection::vec(0_u64..1000, 0..400),
            in_flight in 1_usize..20,
            workers in 1_usize..12,
            later in 0_usize..20,
            seed in any::<u64>(),
        ) {
            let begin = Instant::now();
            let mut now = 0;
            let sorted: Vec<Instant> = steps.iter().map(|step| { now += step; begin + Duration::from_micros(now) }).collect();
            let last = sorted.len().checked_sub(1 + later.min(in_flight)).and_then(|place| sorted.get(place));
            let stop = last.copied().unwrap_or(begin);
            let mut shuffled = sorted.clone();
            for (chunk, frames) in shuffled.chunks_mut(in_flight).enumerate() {
                let places = frames.len();
                frames.rotate_left((seed.rotate_left(chunk as u32) % places as u64) as usize);
            }
            // Fewer are kept than in earnest, so that some are forgotten.
            let mut ends = Ends { window: in_flight + 12, ..Ends::new(in_flight) };
            for end in shuffled {
                ends.push(end);
                prop_assert!(ends.early.len().max(ends.first.len()).max(ends.last.len()) <= in_flight + 12);
            }
            prop_assert_eq!(ends.interval(workers, stop), interval(sorted, workers, stop));
        }
    }

    #[test]
    fn a_long_stream_takes_no_more_memory() {
        let begin = Instant::now();
        let mut ends = Ends::new(16);
        for frame in 0..100_000_u64 {
            ends.push(begin + Duration::from_micros(10 * (frame ^ 3)));
        }
        assert!(ends.early.len() + ends.first.len() + ends.last.len() <= 3 * (KEPT + 16));
        let stop = begin + Duration::from_secs(1);
        assert_eq!(ends.interval(4, stop), Some(Duration::from_micros(10)));
    }
}
