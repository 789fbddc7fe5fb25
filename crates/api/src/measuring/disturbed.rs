//! Measurements that were disturbed, which are repeated, and profiles that no longer hold.

use std::time::Duration;

use millstream_board::Board;
use millstream_cost::Nanoseconds;
use millstream_predict::NetworkProfile;
use millstream_predict::samples::SegmentSample;
use millstream_profile::MOST_OTHER_LOAD;

use crate::control::{Control, Event};
use crate::interference::{Interference, InterferenceWatch};

/// How long others are watched before a profile that they disturbed is used again.
const LOOK: Duration = Duration::from_millis(300);
/// Times of the same segment that differ by less count as equal: where else it runs in the pipeline changes them as
/// well.
const SAME_SEGMENT: f64 = 0.15;
/// And so many standard errors of both.
const STANDARD_ERRORS: f64 = 4.0;
/// Predictions of what was not measured may be as far off.
const PREDICTED: f64 = 0.5;

/// Says that an activity, such as `measuring squeezenet`, was disturbed, if it was so much that it counts.
pub(crate) fn report(activity: &str, by: Interference, control: &Control) {
    if by.is_significant() {
        control.emit(&Event::Disturbed { activity, by });
    }
}

/// A measurement with what disturbed it; of two that are disturbed, the less disturbed one.
pub(crate) fn repeated_if_disturbed<T, E>(
    mut run: impl FnMut() -> Result<(T, Interference), E>,
) -> Result<(T, Interference), E> {
    let first = run()?;
    if !first.1.is_significant() {
        return Ok(first);
    }
    let again = run()?;
    Ok(if again.1 < first.1 { again } else { first })
}

/// Whether others disturbed a profile and use less than half as much now, so that a new one would be better. Heat is no
/// reason: what works hard gets as hot again.
pub(crate) fn is_quieter_now(network: &NetworkProfile, board: &Board) -> bool {
    let before = Interference::during(network).other_cores;
    if before <= MOST_OTHER_LOAD {
        return false;
    }
    let watch = InterferenceWatch::of(board);
    std::thread::sleep(LOOK);
    watch.others_cores().is_some_and(|now| now < 0.5 * before)
}

/// What a trial says against the profile that it was planned with: text for people. `None` if it says nothing, or if
/// it was disturbed.
///
/// A segment that was measured then as now has to take the same time, but for noise; stages that were predicted from
/// other segments may be off by more.
pub(crate) fn contradiction(
    known: &[SegmentSample],
    seen: &[SegmentSample],
    planned: Nanoseconds,
    measured: Nanoseconds,
) -> Option<String> {
    if seen.iter().any(|sample| Interference::from(&sample.conditions).is_significant()) {
        return None;
    }
    let is_same = |one: &SegmentSample, other: &SegmentSample| {
        let of = |sample: &SegmentSample| (sample.start, sample.end, sample.concurrent);
        one.processor == other.processor && of(one) == of(other)
    };
    let pairs = seen.iter().filter_map(|new| Some((known.iter().find(|old| is_same(old, new))?, new)));
    let mut told = pairs.filter(|(old, new)| differ(old, new)).map(|(old, new)| {
        let time = |sample: &SegmentSample| Nanoseconds::from_seconds(sample.time.median_seconds);
        let (processor, start, end) = (&new.processor, new.start + 1, new.end);
        let (was, is) = (time(old), time(new));
        format!("blocks {start} to {end} on {processor} took {was} then and take {is} now")
    });
    told.next().or_else(|| {
        let ratio = measured.seconds() / planned.seconds();
        let is_off = (ratio - 1.0).abs() > PREDICTED;
        is_off.then(|| format!("it promises a period of {planned} where {measured} is measured"))
    })
}

fn differ(old: &SegmentSample, new: &SegmentSample) -> bool {
    let (before, now) = (old.time.median_seconds, new.time.median_seconds);
    let noise = STANDARD_ERRORS * (old.time.standard_error_seconds() + new.time.standard_error_seconds());
    (before - now).abs() > noise.max(SAME_SEGMENT * before.min(now))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use millstream_board::ProcessorClass;
    use millstream_predict::Statistics;
    use millstream_predict::samples::SampleConditions;

    use super::*;

    const HOT: Interference = Interference { heat_throttled: true, other_cores: 0.0 };

    fn by_others(other_cores: f64) -> Interference {
        Interference { heat_throttled: false, other_cores }
    }

    fn sample(milliseconds: f64, end: usize, other_load: f64) -> SegmentSample {
        SegmentSample {
            processor: ProcessorClass::new("B", 1),
            start: 0,
            end,
            input_bytes: 0,
            concurrent: 2,
            time: Statistics { median_seconds: milliseconds * 1e-3, mad_seconds: 1e-5, repetitions: 25 },
            conditions: SampleConditions { other_load, ..SampleConditions::default() },
        }
    }

    fn period(milliseconds: f64) -> Nanoseconds {
        Nanoseconds::from_seconds(milliseconds * 1e-3)
    }

    #[test]
    fn what_was_disturbed_is_measured_again_and_the_quieter_one_counts() {
        let counted = |seen: &[Interference]| {
            let mut seen = seen.iter().copied().enumerate();
            let (kept, by) = repeated_if_disturbed(|| seen.next().ok_or(())).unwrap();
            (kept, by, seen.count())
        };
        let [quiet, least, little, much, more] = [0.0, MOST_OTHER_LOAD, 0.2, 0.5, 0.9].map(by_others);
        assert_eq!(counted(&[least, quiet]), (0, least, 1), "it was not");
        assert_eq!(counted(&[much, little, quiet]), (1, little, 1));
        assert_eq!(counted(&[much, more, quiet]), (0, much, 1));
        assert_eq!(counted(&[HOT, more, quiet]), (1, more, 1), "heat is worse than others");
        assert_eq!(counted(&[more, HOT, quiet]), (0, more, 1));
    }

    #[test]
    fn a_segment_that_takes_another_time_now_contradicts_its_profile() {
        let told =
            |was: f64, is: f64| contradiction(&[sample(was, 9, 0.0)], &[sample(is, 9, 0.0)], period(1.0), period(1.0));
        assert_eq!(told(10.0, 11.4), None, "within 15 %");
        assert_eq!(told(10.0, 5.0).unwrap(), "blocks 1 to 9 on B1 took 10.000 ms then and take 5.000 ms now");
        assert!(told(5.0, 10.0).is_some());
        // Of short segments, the standard errors are more than that: 4 * 2 * 1.86 * 0.01 / 5 ms.
        assert_eq!(told(0.05, 0.07), None);
        assert!(told(0.05, 0.09).is_some());
    }

    #[test]
    fn other_segments_and_disturbed_trials_say_nothing() {
        let told = |seen: SegmentSample| contradiction(&[sample(10.0, 9, 0.0)], &[seen], period(1.0), period(1.0));
        assert_eq!(told(sample(5.0, 8, 0.0)), None, "another range");
        assert_eq!(told(SegmentSample { concurrent: 1, ..sample(5.0, 9, 0.0) }), None, "less beside it");
        assert_eq!(told(SegmentSample { processor: ProcessorClass::new("s", 1), ..sample(5.0, 9, 0.0) }), None);
        assert_eq!(told(sample(5.0, 9, 0.5)), None, "others worked as well");
        let mut hot = sample(5.0, 9, 0.0);
        hot.conditions.heat_throttled = true;
        assert_eq!(told(hot), None, "clocks were lowered");
        assert!(told(sample(5.0, 9, 0.0)).is_some());
    }

    #[test]
    fn periods_may_be_off_by_half() {
        let told = |planned: f64, measured: f64| contradiction(&[], &[], period(planned), period(measured));
        assert_eq!((told(10.0, 14.9), told(10.0, 5.1)), (None, None));
        assert!(told(10.0, 15.1).unwrap().contains("10.000 ms where 15.100 ms"));
        assert!(told(10.0, 4.9).is_some());
    }

    #[test]
    fn the_load_of_others_is_that_of_most_samples() {
        let board = millstream_test_support::board("B1");
        let network = crate::Network::open("zoo:tiny-darknet", millstream_onnx::ReadOptions::default()).unwrap();
        let mut known = NetworkProfile::new(network.digest(), network.graph(), network.chain());
        assert_eq!(Interference::during(&known), by_others(0.0));
        known.samples = vec![sample(1.0, 1, 0.0), sample(1.0, 2, 1.2), sample(1.0, 3, 1.5)];
        assert_eq!(Interference::during(&known), by_others(1.2));
        known.samples[1].conditions.other_load = 0.05;
        assert_eq!(Interference::during(&known), by_others(0.05));
        assert!(!is_quieter_now(&known, &board), "it was quiet enough");

        known.samples[0].conditions.heat_throttled = true;
        assert_eq!(Interference::during(&known), by_others(0.05), "most were not");
        known.samples[2].conditions.heat_throttled = true;
        assert!(Interference::during(&known).heat_throttled);
        assert!(!is_quieter_now(&known, &board), "it would be as hot again");
    }
}
