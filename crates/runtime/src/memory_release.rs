//! Gives freed memory back to the system after a schedule has ended.

use crate::sync::release_freed_memory;

/// Shared by all threads of a schedule. When the last of them has let go of its segments, what these had is given back
/// to the system.
pub(crate) struct MemoryRelease;

impl Drop for MemoryRelease {
    fn drop(&mut self) {
        release_freed_memory();
    }
}
