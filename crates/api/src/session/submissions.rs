//! Frames that one caller waits to submit while another takes their results.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use millstream_backend::Tensor;
use millstream_runtime::FrameResult;

use crate::error::Error;
use crate::session::{Owner, Session};

/// Frames of one owner that are submitted one by one until their end is announced: the receiver of their results can
/// wait for a frame that another thread is still to submit.
#[derive(Debug)]
pub struct Submissions {
    owner: Owner,
    state: Mutex<State>,
    changed: Condvar,
}

/// What was said so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct State {
    count: u64,
    /// Whether no frame will come any more.
    is_over: bool,
}

impl Submissions {
    /// No frames yet, by a new owner.
    ///
    /// # Errors
    /// As [`Session::join`].
    pub fn new(session: &Session) -> Result<Self, Error> {
        Ok(Self { owner: session.join()?, state: Mutex::default(), changed: Condvar::new() })
    }

    /// As [`Session::submit_within`].
    ///
    /// # Errors
    /// [`Error::Ended`] after [`Submissions::end`]; as [`Session::submit_within`].
    pub fn submit_within(
        &self,
        session: &Session,
        held: &mut Option<Vec<Tensor>>,
        time: Duration,
    ) -> Result<Option<u64>, Error> {
        if self.state().is_over {
            return Err(Error::Ended);
        }
        let submitted = session.submit_within(self.owner, held, time)?;
        if submitted.is_some() {
            self.state().count += 1;
            self.changed.notify_all();
        }
        Ok(submitted)
    }

    /// As [`Session::receive_within`]. If it `awaits_more`, `Some(None)` is the announced end: while there is no frame,
    /// another one is waited for.
    ///
    /// # Errors
    /// As [`Session::receive_within`].
    pub fn receive_within(
        &self,
        session: &Session,
        awaits_more: bool,
        time: Duration,
    ) -> Result<Option<Option<FrameResult>>, Error> {
        // Before the session is asked, so that nothing comes in between unnoticed.
        let known = *self.state();
        let received = session.receive_within(self.owner, time)?;
        if awaits_more && !known.is_over && matches!(received, Some(None)) {
            self.wait(known, time);
            return Ok(None);
        }
        Ok(received)
    }

    /// Tells that no frame will come any more.
    pub fn end(&self) {
        self.state().is_over = true;
        self.changed.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits while nothing else is said than what is `known`, so long at most.
    fn wait(&self, known: State, time: Duration) {
        let waited = self.changed.wait_timeout_while(self.state(), time, |state| *state == known);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }
}
