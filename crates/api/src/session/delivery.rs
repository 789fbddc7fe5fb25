//! Who gets which result: several callers share one pipeline, whose results come in the order of all frames.
//!
//! There is no thread for it. Of those who wait, one receives and puts the results into the boxes of their owners.

use std::collections::{HashMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use millstream_backend::Tensor;
use millstream_runtime::{FrameResult, Received};

use crate::error::Error;
use crate::run::Stream;

/// A caller of a [`Session`](crate::Session) that has submitted frames and gets their results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Owner(u64);

/// The outcome of submitting a frame.
#[derive(Debug)]
pub enum Submitted {
    /// It is on its way, with this number among all frames of the session.
    Yes(u64),
    /// Its owner has too many frames of which it has not taken the results.
    TooMany(Vec<Tensor>),
    /// The pipeline has no room for it now.
    Full(Vec<Tensor>),
}

/// A pipeline and the boxes of those who share it.
pub(super) struct Delivery {
    stream: Stream<'static>,
    /// Frames that an owner may have between submitting them and taking their results.
    most: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    next_owner: u64,
    owners: HashMap<u64, Owner>,
    /// Those of owners that are gone are missing.
    boxes: HashMap<Owner, Mailbox>,
    is_receiving: bool,
    counts: Counts,
}

#[derive(Default)]
struct Mailbox {
    ready: VecDeque<FrameResult>,
    /// Frames that were submitted and whose results were not taken.
    outstanding: usize,
}

/// What came through.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts {
    pub(super) frames: u64,
    pub(super) failed: u64,
    first: Option<Instant>,
    last: Option<Instant>,
}

impl Counts {
    fn count(&mut self, result: &FrameResult) {
        self.frames += 1;
        self.failed += u64::from(result.outcome.is_err());
        self.first.get_or_insert(result.received);
        self.last = Some(result.received);
    }

    /// Frames per second between the first result and the last one; `None` before there are two.
    pub(super) fn frames_per_second(&self) -> Option<f64> {
        let time = self.last?.duration_since(self.first?).as_secs_f64();
        (self.frames > 1 && time > 0.0).then(|| (self.frames - 1) as f64 / time)
    }
}

impl Delivery {
    pub(super) fn new(stream: Stream<'static>, most: usize) -> Self {
        Self { stream, most, state: Mutex::default(), changed: Condvar::new() }
    }

    pub(super) fn stream(&self) -> &Stream<'static> {
        &self.stream
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn counts(&self) -> Counts {
        self.state().counts
    }

    /// A new owner of frames.
    pub(super) fn join(&self) -> Owner {
        let mut state = self.state();
        let owner = Owner(state.next_owner);
        state.next_owner += 1;
        state.boxes.insert(owner, Mailbox::default());
        owner
    }

    /// An owner is gone: results of its frames are dropped, also those that are still to come.
    pub(super) fn leave(&self, owner: Owner) {
        let left = self.state().boxes.remove(&owner);
        self.changed.notify_all();
        drop(left);
    }

    /// Frames of which an owner has not taken the results.
    pub(super) fn outstanding(&self, owner: Owner) -> usize {
        self.state().boxes.get(&owner).map_or(0, |inbox| inbox.outstanding)
    }

    /// Submits a frame if there is room for it.
    pub(super) fn try_submit(&self, owner: Owner, frame: Vec<Tensor>) -> Result<Submitted, Error> {
        // Locked all the time, so that nobody gets the result before it has an owner.
        let mut state = self.state();
        if state.boxes.get(&owner).is_none_or(|inbox| inbox.outstanding >= self.most) {
            return Ok(Submitted::TooMany(frame));
        }
        match self.stream.try_submit(frame)? {
            Ok(sequence) => {
                state.owners.insert(sequence, owner);
                state.boxes.entry(owner).or_default().outstanding += 1;
                Ok(Submitted::Yes(sequence))
            }
            Err(frame) => Ok(Submitted::Full(frame)),
        }
    }

    /// The owner's next result, if it is there.
    pub(super) fn take(&self, owner: Owner) -> Option<FrameResult> {
        let mut state = self.state();
        let inbox = state.boxes.get_mut(&owner)?;
        let result = inbox.ready.pop_front()?;
        inbox.outstanding -= 1;
        drop(state);
        self.changed.notify_all();
        Some(result)
    }

    /// Waits until an owner of too many frames may submit another one, so long at most.
    pub(super) fn await_fewer(&self, owner: Owner, limit: Duration) {
        let state = self.state();
        if state.boxes.get(&owner).is_some_and(|inbox| inbox.outstanding >= self.most) {
            let waited = self.changed.wait_timeout(state, limit);
            drop(waited.unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// Receives a result, whose ever it is, or lets another thread that is about to, until something has come or for so
    /// long at most. Does nothing if there is one of `wanted` already.
    pub(super) fn advance(&self, wanted: Option<Owner>, limit: Duration) {
        let mut state = self.state();
        if wanted.and_then(|owner| state.boxes.get(&owner)).is_some_and(|inbox| !inbox.ready.is_empty()) {
            return;
        }
        if state.is_receiving {
            let waited = self.changed.wait_timeout(state, limit);
            drop(waited.unwrap_or_else(PoisonError::into_inner));
            return;
        }
        state.is_receiving = true;
        drop(state);
        let receiving = Receiving(self);
        let received = self.stream.recv_timeout(limit);
        let is_idle = matches!(received, Received::Nothing);
        let unwanted = self.deliver(received);
        drop(receiving);
        self.changed.notify_all();
        drop(unwanted);
        if is_idle {
            // Another thread is submitting at this moment.
            std::thread::yield_now();
        }
    }

    /// Puts a result into its owner's box; returns it if there is none any more.
    fn deliver(&self, received: Received) -> Option<Box<FrameResult>> {
        let mut state = self.state();
        state.is_receiving = false;
        let Received::Result(result) = received else { return None };
        state.counts.count(&result);
        let owner = state.owners.remove(&result.sequence);
        match owner.and_then(|owner| state.boxes.get_mut(&owner)) {
            Some(inbox) => inbox.ready.push_back(*result),
            None => return Some(result),
        }
        None
    }
}

/// A thread that receives. Should it panic, others do so in its place.
struct Receiving<'a>(&'a Delivery);

impl Drop for Receiving<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.state().is_receiving = false;
            self.0.changed.notify_all();
        }
    }
}
