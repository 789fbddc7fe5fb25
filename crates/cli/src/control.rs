//! How commands follow long work: progress on standard error, Ctrl-C.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use millstream::{Control, Event, Interference, ProgressUnit};
use millstream_predict::LeftOutEngine;

use crate::progress::Steps;
use crate::{interrupt, output};

/// Engines that were not measured further, as events told of them.
#[derive(Clone, Default)]
pub(crate) struct LeftOutEngines(Arc<Mutex<Vec<LeftOutEngine>>>);

impl LeftOutEngines {
    fn add(&self, engine: &LeftOutEngine) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !known.contains(engine) {
            known.push(engine.clone());
        }
    }

    /// Those that were told of, each once.
    pub(crate) fn all(&self) -> Vec<LeftOutEngine> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Shows what happens on standard error, and ends early when Ctrl-C is pressed.
pub(crate) fn control() -> Control {
    control_with(&LeftOutEngines::default())
}

/// The same, keeping which engines were left out.
pub(crate) fn control_with(left_out_engines: &LeftOutEngines) -> Control {
    interrupt::listen();
    let left_out_engines = left_out_engines.clone();
    let activities: Mutex<HashMap<String, Steps>> = Mutex::default();

    let show = move |event: &Event<'_>| match event {
        Event::Progress(progress) => {
            let mut activities = activities.lock().unwrap_or_else(PoisonError::into_inner);
            if progress.is_over {
                activities.remove(progress.activity);
                return;
            }
            let begin = || match progress.unit {
                ProgressUnit::Seconds => Steps::of_seconds(progress.activity, progress.total),
                ProgressUnit::Steps => Steps::new(progress.activity, progress.total),
            };
            let steps = activities.entry(progress.activity.to_owned()).or_insert_with(begin);
            progress.gap.into_iter().for_each(|gap| steps.set_gap(gap));
            steps.set(progress.done, progress.total);
        }
        Event::CachedProfile { created, age, during } => {
            output::remark(format!("using the profile of {created}{}", conditions(*age, *during)));
        }
        Event::MeasuredAnew { created, reason } => {
            output::remark(format!("measuring anew: the profile of {created} does not hold any more: {reason}"));
        }
        Event::Disturbed { activity, by } => output::remark(format!("{activity} was disturbed: {by}")),
        Event::LeftOut(left_out) => {
            left_out_engines.add(left_out);
            output::remark(left_out);
        }
        Event::Planning { network } => {
            output::remark(format!("there is no schedule of {network} here: planning one ..."));
        }
        Event::Tuning(event) => output::remark(format!("after {event}")),
        Event::Unsupported(text) | Event::OtherDriver(text) | Event::Warning(text) => output::remark(text),
        _ => {}
    };
    Control::new().observed_by(show).cancelled_by(interrupt::requested)
}

/// From what part of a core on others' work is worth a word.
const NOTICEABLE: f64 = 0.05;

/// How old a profile is, and what disturbed it.
fn conditions(age: Option<Duration>, during: Interference) -> String {
    let of = |count: u64, unit: &str| format!("{count} {unit}{} old", if count == 1 { "" } else { "s" });
    let age = age.map(|age| match age.as_secs() / 60 {
        0 => "less than a minute old".to_owned(),
        minutes @ 1..60 => of(minutes, "minute"),
        minutes @ 60..1440 => of(minutes / 60, "hour"),
        minutes => of(minutes / 1440, "day"),
    });
    let is_noticeable = during.is_significant() || during.other_cores >= NOTICEABLE;
    let disturbed = is_noticeable.then(|| format!("{during} then"));
    let known: Vec<String> = age.into_iter().chain(disturbed).collect();
    if known.is_empty() { String::new() } else { format!(" ({})", known.join("; ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_told_in_its_largest_unit_and_others_if_they_count() {
        let quiet = Interference::default();
        let during = |other_cores| Interference { other_cores, ..quiet };
        let told = |minutes: u64, cores| conditions(Some(Duration::from_secs(60 * minutes)), during(cores));
        assert_eq!(told(0, 0.0), " (less than a minute old)");
        assert_eq!(
            [1, 59, 60, 1439, 2880].map(|minutes| told(minutes, 0.04)),
            [" (1 minute old)", " (59 minutes old)", " (1 hour old)", " (23 hours old)", " (2 days old)"]
        );
        assert_eq!(told(120, 0.26), " (2 hours old; other programs used 0.3 cores then)");
        assert_eq!(conditions(None, quiet), "");
        let hot = Interference { heat_throttled: true, ..quiet };
        assert_eq!(conditions(None, hot), " (the system lowered clocks because of heat then)");
    }
}
