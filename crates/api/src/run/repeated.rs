//! Runs that were disturbed, which are repeated.

use std::time::Duration;

use crate::control::Control;
use crate::error::Error;
use crate::interference::Interference;
use crate::run::options::RunOptions;
use crate::run::report::NetworkRun;

/// Longer runs are not repeated: what others do meanwhile is part of what they show.
const MOST_REPEATED: Duration = Duration::from_mins(1);

/// These outcomes of a run that took so long, or those of another run with `again`, if that was disturbed less. Only
/// frames that can be given again are: made-up ones that always are there, whose results go nowhere. `report` is the
/// report of an outcome.
pub(super) fn quieter<T>(
    mut outcomes: Vec<T>,
    report: fn(&mut T) -> &mut NetworkRun,
    took: Duration,
    options: &RunOptions,
    control: &Control,
    again: impl FnOnce() -> Result<Vec<T>, Error>,
) -> Vec<T> {
    let goes_nowhere = options.output.is_none() && options.expected.is_none();
    let is_steady = !options.is_adaptive && options.camera.is_none();
    let has_own_frames = outcomes.iter_mut().any(|outcome| report(outcome).has_own_frames);
    let can_be_repeated = goes_nowhere && is_steady && !has_own_frames && took <= MOST_REPEATED;
    let by = disturbance(&mut outcomes, report);
    if !by.is_significant() || !can_be_repeated || control.is_cancelled() {
        return outcomes;
    }

    // Whatever keeps the second run from its end, the first one is whole.
    let Some(mut repeated) = again().ok().filter(|_| !control.is_cancelled()) else { return outcomes };
    let still = disturbance(&mut repeated, report);
    let failed = |outcomes: &mut [T]| outcomes.iter_mut().map(|outcome| report(outcome).failed_frames).sum::<u64>();
    let is_better = still < by && failed(&mut repeated) <= failed(&mut outcomes);
    let note = match (is_better, still.is_significant()) {
        (true, false) => format!("frames were streamed twice: the first time, {by}"),
        (_, true) => "frames were streamed twice, and disturbed both times; this is the quieter time".to_owned(),
        (false, false) => "frames were streamed twice; fewer of them failed the first time".to_owned(),
    };
    let mut kept = if is_better { repeated } else { outcomes };
    kept.iter_mut().for_each(|outcome| report(outcome).warnings.push(note.clone()));
    kept
}

/// What held the networks' frames up most.
fn disturbance<T>(outcomes: &mut [T], report: fn(&mut T) -> &mut NetworkRun) -> Interference {
    let all = outcomes.iter_mut().filter_map(|outcome| report(outcome).disturbance());
    all.fold(Interference::default(), Interference::or_greater)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use std::path::PathBuf;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use serde_json::json;

    use super::*;
    use crate::run::camera::{Camera, WhenLate};

    /// A run of one network beside others that use so many cores, told by its number of frames.
    fn run(frames: usize, others_cores: f64) -> Vec<NetworkRun> {
        let report: NetworkRun = serde_json::from_value(json!({
            "network": "n", "configuration": "B1", "frames": frames, "different_frames": 1, "has_own_frames": false,
            "dropped_frames": 0, "predicted_period_seconds": 1.0, "measured_period_seconds": 1.0,
            "predicted_latency_seconds": 1.0, "measured_latency_seconds": 1.0, "others_cores": others_cores,
            "latency": {"p50_seconds": 1.0, "p90_seconds": 1.0, "p99_seconds": 1.0, "max_seconds": 1.0},
            "largest_difference": 0.0, "checked_frames": 1, "stages": [], "adaptations": [], "warnings": [],
        }))
        .unwrap();
        vec![report]
    }

    /// The frames of the run that counts, how often it was repeated, and what is said of it.
    fn counted(first: f64, second: f64, took: Duration, options: &RunOptions) -> (usize, usize, Vec<String>) {
        let mut repeated = 0;
        let again = || {
            repeated += 1;
            Ok(run(2, second))
        };
        let kept = quieter(run(1, first), |run| run, took, options, &Control::default(), again);
        let report = kept.into_iter().next().unwrap();
        (report.frames, repeated, report.warnings)
    }

    #[test]
    fn a_disturbed_run_is_repeated_and_the_quieter_one_counts() {
        let counted = |first, second| counted(first, second, Duration::from_secs(1), &RunOptions::default());
        assert_eq!(counted(0.0, 0.0), (1, 0, Vec::new()));
        let (frames, repeated, said) = counted(0.7, 0.0);
        assert_eq!((frames, repeated), (2, 1));
        assert_eq!(said, ["frames were streamed twice: the first time, other programs used 0.7 cores"]);
        let (frames, repeated, said) = counted(0.7, 0.9);
        assert_eq!((frames, repeated), (1, 1));
        assert!(said[0].contains("disturbed both times"), "{said:?}");
    }

    #[test]
    fn a_second_run_that_does_not_end_well_changes_nothing() {
        let (took, options) = (Duration::from_secs(1), RunOptions::default());
        let fails = || Err(Error::Defect("lost".to_owned()));
        let kept = quieter(run(1, 0.7), |run| run, took, &options, &Control::default(), fails);
        assert_eq!((kept[0].frames, kept[0].warnings.len()), (1, 0));

        let failing = || Ok(run(2, 0.0).into_iter().map(|run| NetworkRun { failed_frames: 3, ..run }).collect());
        let kept = quieter(run(1, 0.7), |run| run, took, &options, &Control::default(), failing);
        assert_eq!((kept[0].frames, kept[0].warnings.len()), (1, 1));

        let is_cancelled = Arc::new(AtomicBool::new(false));
        let control = Control::default().cancelled_by({
            let is_cancelled = Arc::clone(&is_cancelled);
            move || is_cancelled.load(Ordering::Relaxed)
        });
        let cancelled = || {
            is_cancelled.store(true, Ordering::Relaxed);
            Ok(run(2, 0.0))
        };
        assert_eq!(quieter(run(1, 0.7), |run| run, took, &options, &control, cancelled)[0].frames, 1);
    }

    #[test]
    fn what_can_not_be_given_again_is_not_repeated() {
        let short = Duration::from_secs(1);
        let repeated = |took: Duration, options: RunOptions| counted(0.7, 0.0, took, &options).1;
        assert_eq!(repeated(MOST_REPEATED, RunOptions::default()), 1);
        assert_eq!(repeated(MOST_REPEATED + short, RunOptions::default()), 0);
        assert_eq!(repeated(short, RunOptions { is_adaptive: true, ..RunOptions::default() }), 0);
        assert_eq!(repeated(short, RunOptions { output: Some(PathBuf::from("o")), ..RunOptions::default() }), 0);
        assert_eq!(repeated(short, RunOptions { expected: Some(PathBuf::from("e")), ..RunOptions::default() }), 0);
        let camera = Some(Camera { hertz: 30.0, when_late: WhenLate::Wait });
        assert_eq!(repeated(short, RunOptions { camera, ..RunOptions::default() }), 0);
    }
}
