//! Locks as the model sees them.

use std::ops::{Deref, DerefMut};
use std::sync::{PoisonError, TryLockError};

use super::world::{me, step, wait, wake};

#[derive(Default)]
pub(crate) struct Mutex<T> {
    inner: std::sync::Mutex<T>,
    waiting: std::sync::Mutex<Vec<usize>>,
}

pub(crate) struct MutexGuard<'a, T> {
    /// Always there until this is dropped.
    inner: Option<std::sync::MutexGuard<'a, T>>,
    mutex: &'a Mutex<T>,
}

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { inner: std::sync::Mutex::new(value), waiting: std::sync::Mutex::default() }
    }

    fn waiting(&self) -> std::sync::MutexGuard<'_, Vec<usize>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> Option<MutexGuard<'_, T>> {
        let inner = match self.inner.try_lock() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        Some(MutexGuard { inner: Some(inner), mutex: self })
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    step();
    loop {
        if let Some(guard) = mutex.take() {
            return guard;
        }
        mutex.waiting().push(me());
        wait("waits for a lock", None);
    }
}

pub(crate) fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    step();
    mutex.take()
}

impl<T> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        self.inner = None;
        self.mutex.waiting().drain(..).for_each(wake);
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.inner.as_ref().unwrap_or_else(|| unreachable!("a guard holds its lock"))
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.inner.as_mut().unwrap_or_else(|| unreachable!("a guard holds its lock"))
    }
}
