//! Threads, locks, channels and the clock, as all of this crate uses them: in one place, so that a model that decides about the order
//! of everything can stand in for them.

pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
pub(crate) use std::sync::{Mutex, MutexGuard};
use std::sync::{PoisonError, TryLockError};
use std::time::Instant;

/// Bounded queues.
pub(crate) mod channel {
    pub(crate) use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
}

/// Threads and their sleep.
pub(crate) mod thread {
    pub(crate) use std::thread::{Builder, JoinHandle, Thread, current, park, park_timeout, yield_now};

    pub(crate) use millstream_machine::{pin_current_thread, prefer_short_slices};
}

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
