//! How callers follow work that takes long, and end it early.

use std::sync::Arc;
use std::time::Duration;

use millstream_pipeline::SearchProgress;
use millstream_predict::LeftOutEngine;
use millstream_runtime::TuningEvent;

use crate::interference::Interference;

/// How the caller follows work that takes long, and ends it early.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicBool, Ordering};
///
/// use millstream_api::{Control, Event};
///
/// let is_over = Arc::new(AtomicBool::new(false));
/// let asked = Arc::clone(&is_over);
/// let control = Control::new()
///     .observed_by(|event| if let Event::Progress(progress) = event {
///         println!("{}: {} of {}", progress.activity, progress.done, progress.total);
///     })
///     .cancelled_by(move || asked.load(Ordering::Relaxed));
/// assert!(!control.is_cancelled());
/// is_over.store(true, Ordering::Relaxed);
/// assert!(control.is_cancelled());
/// ```
#[derive(Clone)]
pub struct Control {
    observer: Arc<dyn Fn(&Event<'_>) + Send + Sync>,
    is_cancelled: Arc<dyn Fn() -> bool + Send + Sync>,
}

/// Something that the caller may want to know while work goes on.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// An activity began, went on or ended.
    Progress(Progress<'a>),
    /// A profile that was made earlier stands in for a new one.
    CachedProfile {
        /// When it was made, in RFC 3339.
        created: &'a str,
        /// How long ago; `None` if nobody can tell.
        age: Option<Duration>,
        /// What held up the work meanwhile.
        during: Interference,
    },
    /// A profile that was made earlier does not hold any more, so a new one is made.
    MeasuredAnew {
        /// When it was made, in RFC 3339.
        created: &'a str,
        /// What speaks against it.
        reason: &'a str,
    },
    /// Other programs worked, or clocks were lowered, while something was measured, also when that was repeated.
    Disturbed {
        /// What was measured, such as `measuring squeezenet`.
        activity: &'a str,
        /// What held it up.
        by: Interference,
    },
    /// An engine can't help on a cluster, and is not used there.
    LeftOut(&'a LeftOutEngine),
    /// An engine does not run some operators of a network, so that others run them, or an accelerator runs none: text
    /// for people.
    Unsupported(&'a str),
    /// An accelerator is not used, because another one drives the same device: text for people.
    OtherDriver(&'a str),
    /// There is no schedule of the network, so one is made.
    Planning {
        /// The network's name.
        network: &'a str,
    },
    /// The schedule of a running pipeline was watched or changed.
    Tuning(&'a TuningEvent),
    /// Something does not go as asked.
    Warning(&'a str),
}

/// The progress of an activity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress<'a> {
    /// What is done, such as `measuring squeezenet on this machine`.
    pub activity: &'a str,
    /// Units that are done.
    pub done: usize,
    /// Units in all, which may change while it goes on.
    pub total: usize,
    /// What a unit is.
    pub unit: ProgressUnit,
    /// Of a search: by what part the shortest period found is above the one that it expects at best. An estimate and no
    /// bound ([`SearchProgress::gap`]).
    pub gap: Option<f64>,
    /// Whether the activity has ended, possibly early.
    pub is_over: bool,
}

/// The unit that progress is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgressUnit {
    /// Steps, which may take differently long.
    Steps,
    /// Seconds of a given time.
    Seconds,
}

impl Default for Control {
    fn default() -> Self {
        Self { observer: Arc::new(|_| {}), is_cancelled: Arc::new(|| false) }
    }
}

impl Control {
    /// Reports to nobody and never ends early.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same, telling `observer` what happens. It may be called from several threads, one at a time for each
    /// activity.
    #[must_use]
    pub fn observed_by(self, observer: impl Fn(&Event<'_>) + Send + Sync + 'static) -> Self {
        Self { observer: Arc::new(observer), ..self }
    }

    /// The same, ending early once `is_cancelled` is true. It is asked often.
    #[must_use]
    pub fn cancelled_by(self, is_cancelled: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self { is_cancelled: Arc::new(is_cancelled), ..self }
    }

    /// Whether work should end.
    pub fn is_cancelled(&self) -> bool {
        (self.is_cancelled)()
    }

    /// Tells the observer something.
    pub fn emit(&self, event: &Event<'_>) {
        (self.observer)(event);
    }

    /// Tells how far a search is.
    pub(crate) fn searching(&self, activity: &str, progress: &SearchProgress) {
        let count = |rounds: u64| usize::try_from(rounds).unwrap_or(usize::MAX);
        self.emit(&Event::Progress(Progress {
            activity,
            done: count(progress.rounds),
            total: count(progress.most_rounds),
            unit: ProgressUnit::Steps,
            gap: Some(progress.gap),
            is_over: false,
        }));
    }

    /// Tells that an activity is over.
    pub(crate) fn end(&self, activity: &str) {
        let (unit, gap) = (ProgressUnit::Steps, None);
        self.emit(&Event::Progress(Progress { activity, done: 0, total: 0, unit, gap, is_over: true }));
    }

    pub(crate) fn warn(&self, text: &str) {
        self.emit(&Event::Warning(text));
    }

    /// Begins an activity of so many steps.
    pub(crate) fn steps(&self, activity: impl Into<String>, total: usize) -> Activity<'_> {
        Activity::begin(self, activity.into(), total, ProgressUnit::Steps)
    }

    /// Begins an activity that takes so many seconds.
    pub(crate) fn seconds(&self, activity: impl Into<String>, total: usize) -> Activity<'_> {
        Activity::begin(self, activity.into(), total, ProgressUnit::Seconds)
    }
}

/// An activity that goes on; it has ended when it is dropped.
pub(crate) struct Activity<'a> {
    control: &'a Control,
    activity: String,
    done: usize,
    total: usize,
    unit: ProgressUnit,
}

impl<'a> Activity<'a> {
    fn begin(control: &'a Control, activity: String, total: usize, unit: ProgressUnit) -> Self {
        let begun = Self { control, activity, done: 0, total, unit };
        begun.report(false);
        begun
    }

    pub(crate) fn set(&mut self, done: usize, total: usize) {
        (self.done, self.total) = (done, total);
        self.report(false);
    }

    fn report(&self, is_over: bool) {
        let Self { control, activity, done, total, unit } = self;
        let progress = Progress { activity, done: *done, total: *total, unit: *unit, gap: None, is_over };
        control.emit(&Event::Progress(progress));
    }
}

impl Drop for Activity<'_> {
    fn drop(&mut self) {
        // An observer that panics must not be asked again while its panic is on its way.
        if !std::thread::panicking() {
            self.report(true);
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use std::sync::Mutex;

    use super::*;

    /// What is told of the wanted events while something is done.
    pub(crate) fn told<T: Send + 'static>(
        wanted: impl Fn(&Event<'_>) -> Option<T> + Send + Sync + 'static,
        work: impl FnOnce(&Control),
    ) -> Vec<T> {
        let told = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&told);
        work(&Control::new().observed_by(move |event| noted.lock().unwrap().extend(wanted(event))));
        std::mem::take(&mut *told.lock().unwrap())
    }

    #[test]
    fn an_activity_is_told_from_its_beginning_to_its_end() {
        let progress = |event: &Event<'_>| match event {
            Event::Progress(progress) => Some((progress.done, progress.total, progress.is_over)),
            _ => None,
        };
        let seen = told(progress, |control| {
            let mut steps = control.steps("counting", 3);
            steps.set(2, 4);
        });
        assert_eq!(seen, [(0, 3, false), (2, 4, false), (2, 4, true)]);
    }
}
