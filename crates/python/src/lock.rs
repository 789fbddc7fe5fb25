//! Taking a mutex, whatever became of the thread that had it before.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks, also what a thread that panicked has left: the lists and errors that are shared here change in single steps.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
