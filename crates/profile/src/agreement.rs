//! Measurements that contradict each other: two halves of a range that together take another time than the whole.
//!
//! What slows a core for a moment may leave no trace in the kernel's counters, as when a virtual machine's host is
//! busy.

use std::collections::HashMap;

use millstream_board::ProcessorClass;
use millstream_predict::samples::SegmentSample;

/// Halves may differ from the whole by this part of it: what an engine gains by running operators together.
const PART: f64 = 0.2;
/// And by this time, for handing over between them.
const SECONDS: f64 = 2e-4;

/// A range and its halves, on the same processor: places among samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Halved {
    whole: usize,
    first: usize,
    second: usize,
}

impl Halved {
    fn places(self) -> [usize; 3] {
        [self.whole, self.first, self.second]
    }
}

/// The places of samples that contradict others, in order.
pub(crate) fn doubtful(samples: &[SegmentSample]) -> Vec<usize> {
    let times: Vec<f64> = samples.iter().map(|sample| sample.time.median_seconds).collect();
    let contradicting = halved(samples).into_iter().filter(|range| excess(range.places().map(|at| times[at])) > 0.0);
    let mut places: Vec<usize> = contradicting.flat_map(Halved::places).collect();
    places.sort_unstable();
    places.dedup();
    places
}

/// Takes second measurements, by the places of the first, where they agree better with the others.
pub(crate) fn settle(samples: &mut [SegmentSample], mut again: HashMap<usize, SegmentSample>) {
    for range in halved(samples) {
        let places = range.places();
        let choices = (0..8_u8).map(|bits| [bits & 1, bits & 2, bits & 4].map(|bit| bit != 0));
        let times = |choice: [bool; 3]| {
            let time = |(at, is_second): (usize, bool)| {
                let sample = if is_second { again.get(&at)? } else { &samples[at] };
                Some(sample.time.median_seconds)
            };
            let [whole, first, second] = [0, 1, 2].map(|index| time((places[index], choice[index])));
            Some([whole?, first?, second?])
        };
        // The first of equals: where nothing is gained, nothing is replaced.
        let best = choices
            .filter_map(|choice| Some((choice, excess(times(choice)?))))
            .min_by(|one, other| one.1.total_cmp(&other.1));
        let Some((choice, _)) = best else { continue };
        for (at, is_second) in places.into_iter().zip(choice) {
            if is_second && let Some(sample) = again.remove(&at) {
                samples[at] = sample;
            }
        }
    }
}

/// How far the sum of two halves is from the whole, beyond what is allowed; 0 at the least.
fn excess([whole, first, second]: [f64; 3]) -> f64 {
    let sum = first + second;
    ((whole - sum).abs() - PART * whole.min(sum) - SECONDS).max(0.0)
}

/// All ranges of which both halves were measured, the longest first.
fn halved(samples: &[SegmentSample]) -> Vec<Halved> {
    let key = |sample: &SegmentSample, start: usize, end: usize| (sample.processor.clone(), start, end);
    let by_range: HashMap<(ProcessorClass, usize, usize), usize> =
        samples.iter().enumerate().map(|(at, sample)| (key(sample, sample.start, sample.end), at)).collect();
    let mut found = Vec::new();
    for (whole, sample) in samples.iter().enumerate() {
        let halves = (sample.start + 1..sample.end).find_map(|cut| {
            let first = *by_range.get(&key(sample, sample.start, cut))?;
            Some((first, *by_range.get(&key(sample, cut, sample.end))?))
        });
        found.extend(halves.map(|(first, second)| Halved { whole, first, second }));
    }
    found.sort_by_key(|range| std::cmp::Reverse(samples[range.whole].end - samples[range.whole].start));
    found
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use millstream_predict::Statistics;
    use millstream_predict::samples::SampleConditions;

    use super::*;

    fn sample(cluster: &str, start: usize, end: usize, milliseconds: f64) -> SegmentSample {
        SegmentSample {
            processor: ProcessorClass::new(cluster, 1),
            start,
            end,
            input_bytes: 0,
            concurrent: 1,
            time: Statistics { median_seconds: milliseconds * 1e-3, mad_seconds: 0.0, repetitions: 4 },
            conditions: SampleConditions::default(),
        }
    }

    fn milliseconds(samples: &[SegmentSample]) -> Vec<f64> {
        samples.iter().map(|sample| (sample.time.median_seconds * 1e6).round() / 1e3).collect()
    }

    #[test]
    fn halves_that_do_not_add_up_are_doubtful_with_the_whole() {
        let mut samples =
            vec![sample("B", 0, 4, 40.0), sample("B", 0, 2, 18.0), sample("B", 2, 4, 20.0), sample("s", 0, 2, 99.0)];
        assert!(doubtful(&samples).is_empty(), "5 % are what running together gains or costs");
        samples.extend([sample("B", 2, 3, 19.0), sample("B", 3, 4, 11.0)]);
        assert_eq!(doubtful(&samples), [2, 4, 5], "30 ms in halves, 20 ms as a whole");
        samples[1] = sample("B", 0, 2, 36.0);
        assert_eq!(doubtful(&samples), [0, 1, 2, 4, 5]);
        let short = [sample("B", 0, 2, 0.1), sample("B", 0, 1, 0.1), sample("B", 1, 2, 0.15)];
        assert!(doubtful(&short).is_empty(), "0.15 ms are within what handing over may cost");
    }

    #[test]
    fn second_measurements_are_taken_where_they_agree_better() {
        let first = [sample("B", 0, 4, 40.0), sample("B", 0, 2, 36.0), sample("B", 2, 4, 20.0)];
        let again = |whole: f64, first: f64, second: f64| {
            let made = [sample("B", 0, 4, whole), sample("B", 0, 2, first), sample("B", 2, 4, second)];
            HashMap::from_iter(made.into_iter().enumerate())
        };
        let settled = |again| {
            let mut samples = first.to_vec();
            settle(&mut samples, again);
            milliseconds(&samples)
        };
        assert_eq!(settled(again(41.0, 19.0, 21.0)), [40.0, 19.0, 20.0], "the slow half is replaced");
        assert_eq!(settled(again(80.0, 36.0, 20.0)), [40.0, 36.0, 20.0], "nothing agrees: the first ones stay");
        assert_eq!(settled(HashMap::new()), [40.0, 36.0, 20.0]);
    }
}
