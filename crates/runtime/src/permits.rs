//! A counting semaphore.

use crate::sync::channel::{Receiver, Sender, bounded};

/// A bound on how many of something there are at once: a counting semaphore, whose permits any of its clones takes and
/// gives back.
#[derive(Clone)]
pub(crate) struct Permits {
    /// Takes one message for each permit that is taken.
    taken: Sender<()>,
    returned: Receiver<()>,
}

impl Permits {
    pub(crate) fn new(count: usize) -> Self {
        let (taken, returned) = bounded(count);
        Self { taken, returned }
    }

    /// Takes a permit; waits while all are taken.
    pub(crate) fn acquire(&self) {
        // It can't be refused: this holds the other end as well.
        let _ = self.taken.send(());
    }

    /// Takes a permit if one is left; returns whether it did.
    pub(crate) fn try_acquire(&self) -> bool {
        self.taken.try_send(()).is_ok()
    }

    /// Gives a permit back; does nothing if none is taken.
    pub(crate) fn release(&self) {
        let _ = self.returned.try_recv();
    }

    /// How many are taken.
    pub(crate) fn taken(&self) -> usize {
        self.taken.len()
    }
}
