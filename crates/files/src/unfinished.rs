//! Names of files that are not finished, for a process that has to end at once.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

/// Between two tries to keep others from beginning and finishing files.
const LOOK: Duration = Duration::from_millis(1);

static NAMES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// While this is held, no other thread begins, finishes or abandons a file.
pub(crate) fn names() -> MutexGuard<'static, Vec<PathBuf>> {
    NAMES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A name that is in the list until this is dropped.
pub(crate) struct Listed(PathBuf);

impl Listed {
    /// Lists a name with the list at hand, so that the name can be made in the same breath.
    pub(crate) fn new(names: &mut Vec<PathBuf>, path: &Path) -> Self {
        names.push(path.to_owned());
        Self(path.to_owned())
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Takes the name off a list that is at hand.
    pub(crate) fn strike(&self, names: &mut Vec<PathBuf>) {
        names.retain(|name| *name != self.0);
    }
}

/// For a process that is about to end while threads of it may still write: removes what is unfinished, and from then on
/// no file begins or finishes, so that nothing is left behind. Waits for a file that is just being finished, at most as
/// long as `limit`.
pub fn abandon_unfinished(limit: Duration) {
    let begin = Instant::now();
    let names = loop {
        match NAMES.try_lock() {
            Ok(names) => break names,
            Err(TryLockError::Poisoned(poisoned)) => break poisoned.into_inner(),
            Err(TryLockError::WouldBlock) if begin.elapsed() >= limit => return,
            Err(TryLockError::WouldBlock) => std::thread::sleep(LOOK),
        }
    };
    for name in names.iter() {
        // It may be gone already.
        let _ = if name.is_dir() { std::fs::remove_dir_all(name) } else { std::fs::remove_file(name) };
    }
    // Never unlocked again.
    std::mem::forget(names);
}
