//! Waiting for another thread: a moment awake, then asleep.

use std::sync::OnceLock;
use std::time::Duration;

use crate::sync::thread::{Thread, current, park, park_timeout};
use crate::sync::{AWAKE, AtomicBool, LOOKS, Ordering, now};

/// How long a thread sleeps before it looks for other work again.
const SHORT_SLEEP: Duration = Duration::from_micros(200);

/// One thread that waits for others.
#[derive(Default)]
pub(crate) struct Sleeper {
    thread: OnceLock<Thread>,
    is_parked: AtomicBool,
}

impl Sleeper {
    /// Makes the calling thread the one that waits here.
    pub(crate) fn register(&self) {
        // The first thread stays; nobody registers twice.
        let _ = self.thread.set(current());
    }

    /// Waits until `is_ready`. The thread that makes it so calls [`Sleeper::wake`] afterwards. `is_ready` must load
    /// with sequential consistency what others store that way, so that either it sees their store or they see this
    /// thread asleep.
    pub(crate) fn wait_until(&self, is_ready: impl Fn() -> bool) {
        let start = now();
        loop {
            for _ in 0..LOOKS {
                if is_ready() {
                    return;
                }
                std::hint::spin_loop();
            }
            if now().duration_since(start) >= AWAKE {
                break;
            }
        }
        loop {
            self.is_parked.store(true, Ordering::SeqCst);
            if is_ready() {
                self.is_parked.store(false, Ordering::SeqCst);
                return;
            }
            park();
        }
    }

    /// As [`Sleeper::wait_until`], but gives up after a moment awake and a short sleep. Returns whether it `is_ready`.
    pub(crate) fn wait_a_moment(&self, is_ready: impl Fn() -> bool) -> bool {
        let start = now();
        while now().duration_since(start) < AWAKE {
            for _ in 0..LOOKS {
                if is_ready() {
                    return true;
                }
                std::hint::spin_loop();
            }
        }
        self.is_parked.store(true, Ordering::SeqCst);
        if !is_ready() {
            park_timeout(SHORT_SLEEP);
        }
        self.is_parked.store(false, Ordering::SeqCst);
        is_ready()
    }

    /// Wakes the thread if it sleeps.
    pub(crate) fn wake(&self) {
        if self.is_parked.swap(false, Ordering::SeqCst)
            && let Some(thread) = self.thread.get()
        {
            thread.unpark();
        }
    }
}
