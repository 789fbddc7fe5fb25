use std::sync::atomic::{AtomicBool, Ordering};

/// Says that something is over, however it ends: a panic must not leave others waiting.
pub(crate) struct SetOnDrop<'a>(pub(crate) &'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}
