//! The end of an engine, as its threads learn of it.

use std::time::Duration;

use crate::sync::channel::{Receiver, RecvTimeoutError, Sender, bounded};
use crate::sync::{AtomicBool, Mutex, Ordering, lock};

/// Set once, when an engine is dropped. Threads can wait for it.
pub(crate) struct Stop {
    /// Looked at for every frame.
    is_set: AtomicBool,
    /// Open until it is set.
    sender: Mutex<Option<Sender<()>>>,
    receiver: Receiver<()>,
}

impl Default for Stop {
    fn default() -> Self {
        let (sender, receiver) = bounded(1);
        Self { is_set: AtomicBool::new(false), sender: Mutex::new(Some(sender)), receiver }
    }
}

impl Stop {
    pub(crate) fn set(&self) {
        self.is_set.store(true, Ordering::SeqCst);
        *lock(&self.sender) = None;
    }

    pub(crate) fn is_set(&self) -> bool {
        self.is_set.load(Ordering::SeqCst)
    }

    /// Sleeps so long, or until it is set; returns whether it is.
    pub(crate) fn wait(&self, time: Duration) -> bool {
        self.receiver.recv_timeout(time) == Err(RecvTimeoutError::Disconnected)
    }
}
