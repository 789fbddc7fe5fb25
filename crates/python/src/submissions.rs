//! What whoever receives waits for while no frame is on its way: another frame, or word that there will be none.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Frames that are submitted one by one.
#[derive(Default)]
pub(crate) struct Submissions {
    state: Mutex<State>,
    changed: Condvar,
}

/// What was said so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct State {
    count: u64,
    /// Whether no frame will come any more.
    pub(crate) is_over: bool,
}

impl Submissions {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn state(&self) -> State {
        *self.lock()
    }

    /// A frame was submitted.
    pub(crate) fn note(&self) {
        self.lock().count += 1;
        self.changed.notify_all();
    }

    /// No frame will come any more.
    pub(crate) fn end(&self) {
        self.lock().is_over = true;
        self.changed.notify_all();
    }

    /// Waits while nothing else is said than what is `known`, so long at most.
    pub(crate) fn wait(&self, known: State, time: Duration) {
        let waited = self.changed.wait_timeout_while(self.lock(), time, |state| *state == known);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }
}
