//! Ctrl-C: a request to finish what is in flight and stop.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

static REQUESTED: AtomicBool = AtomicBool::new(false);
static INSTALLED: OnceLock<()> = OnceLock::new();

/// Starts to listen for Ctrl-C and termination. The second one ends the program at once.
pub(crate) fn listen() {
    INSTALLED.get_or_init(|| {
        let handler = ctrlc::set_handler(|| {
            if REQUESTED.swap(true, Ordering::SeqCst) {
                std::process::exit(130);
            }
        });
        if let Err(error) = handler {
            tracing::warn!(%error, "Ctrl-C will end the program at once");
        }
    });
}

/// Whether somebody asked to stop.
pub(crate) fn requested() -> bool {
    REQUESTED.load(Ordering::SeqCst)
}
