//! A session that a backend gets ready.

use std::time::Duration;

/// How the sessions of a backend were made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Preparation {
    /// Sessions that were made so far, those for traces left out.
    pub sessions: usize,
    /// Those of them that the cache had.
    pub from_cache: usize,
    /// Those of them that the cache has from now on.
    pub stored: usize,
    /// Time that making them took, one after the other, with what was written to the cache.
    pub time: Duration,
}
