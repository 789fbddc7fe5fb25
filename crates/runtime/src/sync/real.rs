//! What the operating system and the standard library have.

use std::sync::{PoisonError, TryLockError};
use std::time::{Duration, Instant};

pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
pub(crate) use std::sync::{Mutex, MutexGuard};

/// How long a thread that has nothing to do keeps its core.
pub(crate) const AWAKE: Duration = Duration::from_micros(50);
/// Looks at a condition between two looks at the clock.
pub(crate) const LOOKS: usize = 32;

/// Bounded queues.
pub(crate) mod channel {
    pub(crate) use std::sync::mpsc::{RecvTimeoutError, TryRecvError, TrySendError};

    pub(crate) use super::super::queue::{Receiver, Sender, bounded};
}

/// Threads and their sleep.
pub(crate) mod thread {
    pub(crate) use std::thread::{Builder, JoinHandle, Thread, current, park, park_timeout, yield_now};

    pub(crate) use millstream_machine::{pin_current_thread, prefer_short_slices};
}

pub(crate) use millstream_machine::{MemoryMark, release_freed_memory};

/// The time.
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Locks, also what a thread that panicked has left: nothing here is ever half changed.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// As [`lock`], if nobody else has it.
pub(crate) fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}
