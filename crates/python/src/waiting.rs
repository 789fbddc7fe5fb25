//! Waiting so that Ctrl-C works and other threads of Python's go on.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use pyo3::prelude::*;

use crate::errors::Timeout;

/// Signals are looked at so often.
const TICK: Duration = Duration::from_millis(50);

/// Calls `look` with the time that it may wait until it returns something, without the interpreter's lock. Between two calls, handlers of
/// signals run. A `limit` that is over is an exception that names `what` was waited for.
pub(crate) fn wait_for<T: Send>(
    py: Python<'_>,
    limit: Option<Duration>,
    what: &str,
    mut look: impl FnMut(Duration) -> PyResult<Option<T>> + Send,
) -> PyResult<T> {
    let begin = Instant::now();
    loop {
        let left = limit.map(|limit| limit.saturating_sub(begin.elapsed()));
        let time = left.map_or(TICK, |left| left.min(TICK));
        let found = py.detach(|| look(time))?;
        py.check_signals()?;
        if let Some(found) = found {
            return Ok(found);
        }
        if left.is_some_and(|left| left.is_zero()) {
            return Err(Timeout::new_err(format!("there was no {what} within {:?}", limit.unwrap_or_default())));
        }
    }
}

/// Does long work on a thread of its own, which may pin itself to cores, while signals are looked at here. `is_cancelled` tells the work
/// to end early; it is waited for in any case.
pub(crate) fn do_long<T: Send>(
    py: Python<'_>,
    is_cancelled: &AtomicBool,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    let is_done = AtomicBool::new(false);
    let waiter = std::thread::current();
    let (done, interrupt) = py.detach(|| {
        std::thread::scope(|scope| {
            let working = scope.spawn(|| {
                let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
                is_done.store(true, Ordering::Release);
                waiter.unpark();
                done
            });
            let mut interrupt = None;
            while !is_done.load(Ordering::Acquire) {
                std::thread::park_timeout(TICK);
                if let Err(error) = Python::attach(|py| py.check_signals()) {
                    is_cancelled.store(true, Ordering::Relaxed);
                    interrupt.get_or_insert(error);
                }
            }
            (working.join().and_then(|done| done), interrupt)
        })
    });
    match (interrupt, done) {
        (Some(interrupt), _) => Err(interrupt),
        (None, Ok(done)) => Ok(done),
        (None, Err(panic)) => resume_unwind(panic),
    }
}
