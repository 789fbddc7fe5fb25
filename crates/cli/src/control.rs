//! How commands follow long work: progress on standard error, Ctrl-C.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use millstream::{Control, Event, ProgressUnit};

use crate::progress::Steps;
use crate::{interrupt, output};

/// Shows what happens on standard error, and ends early when Ctrl-C is pressed.
pub(crate) fn control() -> Control {
    interrupt::listen();
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
        Event::CachedProfile { created } => output::remark(format!("using the profile of {created}")),
        Event::MeasuredAnew { created, reason } => {
            output::remark(format!("measuring anew: the profile of {created} does not hold any more: {reason}"));
        }
        Event::Disturbed { activity, cores } => {
            output::remark(format!("{activity} was disturbed: other programs used {cores:.1} cores"));
        }
        Event::LeftOut(left_out) => output::remark(left_out),
        Event::Planning { network } => {
            output::remark(format!("there is no schedule of {network} here: planning one ..."));
        }
        Event::Tuning(event) => output::remark(format!("after {event}")),
        Event::Warning(text) => output::remark(text),
        _ => {}
    };
    Control::new().observed_by(show).cancelled_by(interrupt::requested)
}
