//! Waiting so that Ctrl-C works and other threads of Python's go on.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use millstream_api::Error;
use millstream_api::bindings::{self, not_within};
use pyo3::prelude::*;

use crate::errors::{self, Timeout};
use crate::lock::lock;

/// Signals are looked at so often.
const TICK: Duration = Duration::from_millis(50);
/// Work that was told to end has so long for it before it is left behind.
const GRACE: Duration = Duration::from_secs(1);
/// What was left behind has so long when the interpreter ends.
const LAST_GRACE: Duration = Duration::from_secs(5);

/// What tells work that goes on to end.
static AT_WORK: Mutex<Vec<Weak<AtomicBool>>> = Mutex::new(Vec::new());

/// Calls `look` with the time that it may wait until it returns something, without the interpreter's lock. Before each
/// call, handlers of signals run: not after one that has found something, which would be lost with what a handler
/// raises. A `limit` that is over is an exception that names `what` was waited for.
pub(crate) fn wait_for<T: Send>(
    py: Python<'_>,
    limit: Option<Duration>,
    what: &str,
    mut look: impl FnMut(Duration) -> PyResult<Option<T>> + Send,
) -> PyResult<T> {
    let found = bindings::wait_for(limit, TICK, |time| {
        py.check_signals()?;
        py.detach(|| look(time))
    })?;
    found.ok_or_else(|| Timeout::new_err(not_within(limit, what)))
}

/// Does long work on a thread of its own, which may pin itself to cores, while signals are looked at here. What a
/// handler raises ends it: `is_cancelled` tells the work to stop. Work that does not, since it reads a slow disk or
/// loads a network, is left behind, and what it makes is dropped.
pub(crate) fn do_long<T: Send + 'static>(
    py: Python<'_>,
    is_cancelled: &Arc<AtomicBool>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (sender, receiver) = channel();
    let at_work = at_work(is_cancelled);
    let working = move || {
        // It can't be sent if it was left behind.
        let _ = sender.send(catch_unwind(AssertUnwindSafe(work)));
        drop(at_work);
    };
    let no_thread = |source| Error::Thread { what: "cannot start the thread for long work".to_owned(), source };
    std::thread::Builder::new()
        .name("long work".to_owned())
        .spawn(working)
        .map_err(|source| errors::of(&no_thread(source)))?;

    let done = py.detach(move || {
        loop {
            match receiver.recv_timeout(TICK) {
                Ok(done) => return Ok(done),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(errors::of(&Error::Defect("long work ended without a result".to_owned())));
                }
            }
            if let Err(interrupt) = Python::attach(|py| py.check_signals()) {
                is_cancelled.store(true, Ordering::Relaxed);
                let _ = receiver.recv_timeout(GRACE);
                return Err(interrupt);
            }
        }
    })?;
    done.or_else(|panic| resume_unwind(panic))
}

/// What work holds for as long as it goes on.
fn at_work(is_cancelled: &Arc<AtomicBool>) -> Arc<AtomicBool> {
    let mut all = lock(&AT_WORK);
    all.retain(|flag| flag.strong_count() > 0);
    all.push(Arc::downgrade(is_cancelled));
    Arc::clone(is_cancelled)
}

/// Ends work that was left behind, or that other threads wait for. What does not end in time, or before the next
/// signal, is left.
pub(crate) fn end_work(py: Python<'_>) {
    let all = std::mem::take(&mut *lock(&AT_WORK));
    all.iter().filter_map(Weak::upgrade).for_each(|flag| flag.store(true, Ordering::Relaxed));
    let _ = wait_for(py, Some(LAST_GRACE), "end of what was at work", |time| {
        let is_over = all.iter().all(|flag| flag.strong_count() == 0);
        if !is_over {
            std::thread::sleep(time.min(Duration::from_millis(10)));
        }
        Ok(is_over.then_some(()))
    });
}
