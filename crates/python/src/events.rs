//! What goes on during long work, told to Python.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use millstream_api::{Control, Error, Event, Progress, ProgressUnit};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors;
use crate::lock::lock;
use crate::waiting::do_long;

/// Does long work that is followed: `observer` is called with a dictionary for each event, and warnings go to the
/// logger `millstream`. What the observer raises ends the work, and is raised here.
pub(crate) fn followed<T: Send + 'static>(
    py: Python<'_>,
    observer: Option<Py<PyAny>>,
    work: impl FnOnce(&Control) -> Result<T, Error> + Send + 'static,
) -> PyResult<T> {
    let is_cancelled = Arc::new(AtomicBool::new(false));
    let raised = Arc::new(Mutex::new(None));
    let control = control(observer, &is_cancelled, &raised);
    let done = do_long(py, &is_cancelled, move || work(&control))?;
    match lock(&raised).take() {
        Some(error) => Err(error),
        None => done.map_err(|error| errors::of(&error)),
    }
}

/// Tells of events until the observer raises something, which is kept and cancels the work.
fn control(observer: Option<Py<PyAny>>, is_cancelled: &Arc<AtomicBool>, raised: &Arc<Mutex<Option<PyErr>>>) -> Control {
    let (asked, cancelled, raised) = (Arc::clone(is_cancelled), Arc::clone(is_cancelled), Arc::clone(raised));
    Control::new().cancelled_by(move || asked.load(Ordering::Relaxed)).observed_by(move |event| {
        if cancelled.load(Ordering::Relaxed) || (observer.is_none() && !is_warning(event)) {
            return;
        }
        Python::attach(|py| {
            if let Err(error) = tell(py, observer.as_ref(), event) {
                lock(&raised).get_or_insert(error);
                cancelled.store(true, Ordering::Relaxed);
            }
        });
    })
}

fn is_warning(event: &Event<'_>) -> bool {
    matches!(event, Event::Warning(_))
}

fn tell(py: Python<'_>, observer: Option<&Py<PyAny>>, event: &Event<'_>) -> PyResult<()> {
    if let Event::Warning(text) = event {
        let logger = py.import("logging")?.call_method1("getLogger", ("millstream",))?;
        logger.call_method1("warning", ("%s", *text))?;
    }
    match observer {
        Some(observer) => observer.call1(py, (described(py, event)?,)).map(drop),
        None => Ok(()),
    }
}

fn described<'py>(py: Python<'py>, event: &Event<'_>) -> PyResult<Bound<'py, PyDict>> {
    let told = PyDict::new(py);
    let text = |kind: &str, text: String| told.set_item("kind", kind).and_then(|()| told.set_item("text", text));
    match event {
        Event::Progress(progress) => described_progress(&told, progress)?,
        Event::CachedProfile { created, .. } => text("cached-profile", format!("using the profile of {created}"))?,
        Event::MeasuredAnew { created, reason } => {
            text("measured-anew", format!("the profile of {created} does not hold any more: {reason}"))?;
        }
        Event::Disturbed { activity, by } => text("disturbed", format!("{activity} was disturbed: {by}"))?,
        Event::LeftOut(left_out) => text("left-out", left_out.to_string())?,
        Event::Unsupported(operators) => text("unsupported", (*operators).to_owned())?,
        Event::OtherDriver(drivers) => text("other-driver", (*drivers).to_owned())?,
        Event::Planning { network } => text("planning", format!("planning for {network}"))?,
        Event::Tuning(event) => text("tuning", event.to_string())?,
        Event::Warning(warning) => text("warning", (*warning).to_owned())?,
        other => text("other", format!("{other:?}"))?,
    }
    Ok(told)
}

fn described_progress(told: &Bound<'_, PyDict>, progress: &Progress<'_>) -> PyResult<()> {
    told.set_item("kind", "progress")?;
    told.set_item("text", progress.activity)?;
    told.set_item("done", progress.done)?;
    told.set_item("total", progress.total)?;
    told.set_item("unit", if progress.unit == ProgressUnit::Seconds { "seconds" } else { "steps" })?;
    told.set_item("is_over", progress.is_over)
}
