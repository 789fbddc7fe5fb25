//! Threads with names, and what they leave behind if they panic.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Builder;

/// A thread to be, with a name by which debuggers and `ps` show it.
pub(crate) fn thread(name: &str) -> Builder {
    Builder::new().name(name.to_owned())
}

/// Says that something is over, however it ends: a panic must not leave others waiting.
pub(crate) struct SetOnDrop<'a>(pub(crate) &'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}
