//! The threads of an engine.

use crate::sync::thread::{Builder, JoinHandle};
use crate::sync::{Mutex, lock};

/// All that were started and may still run.
#[derive(Default)]
pub(crate) struct Threads {
    started: Mutex<Vec<JoinHandle<()>>>,
}

impl Threads {
    /// Starts a thread that belongs to the engine.
    pub(crate) fn spawn(&self, name: &str, work: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
        let thread = Builder::new().name(name.to_owned()).spawn(work)?;
        let mut threads = lock(&self.started);
        threads.retain(|thread| !thread.is_finished());
        threads.push(thread);
        Ok(())
    }

    /// Whether all have ended.
    pub(crate) fn are_finished(&self) -> bool {
        lock(&self.started).iter().all(JoinHandle::is_finished)
    }

    /// Gives back what those that have ended still hold, and leaves the others behind.
    pub(crate) fn join_finished(&self) {
        for thread in lock(&self.started).drain(..).filter(JoinHandle::is_finished) {
            // Threads catch panics of backends; nothing else in them panics.
            let _ = thread.join();
        }
    }
}
