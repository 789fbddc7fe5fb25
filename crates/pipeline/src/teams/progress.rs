//! How callers follow searches.

use std::fmt;
use std::sync::Arc;

/// How far a search with teams is. All three are plain numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SearchProgress {
    /// Number of rounds that are done: in each, the teams of what looks best are evaluated.
    pub rounds: u64,
    /// Number of rounds at the most.
    pub most_rounds: u64,
    /// By what part the shortest period that was found is above the one that the search expects at best:
    /// `found / expected - 1`, 0 at the least. What is expected of teams that were not evaluated yet is an estimate,
    /// their bound times what evaluated teams took beyond theirs, and both periods are looked for in steps of half a
    /// percent. So this is no bound: more may be left, or less.
    /// [`PeriodBound`](crate::PeriodBound) is proven.
    pub gap: f64,
}

/// A function that is told how far a search is, and says whether it should continue.
#[derive(Clone)]
pub(crate) struct ProgressCallback(Arc<dyn Fn(&SearchProgress) -> bool + Send + Sync>);

impl ProgressCallback {
    pub(crate) fn new(should_continue: impl Fn(&SearchProgress) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(should_continue))
    }

    pub(crate) fn should_continue(&self, progress: &SearchProgress) -> bool {
        (self.0)(progress)
    }
}

impl fmt::Debug for ProgressCallback {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ProgressCallback")
    }
}
