//! How callers follow searches.

use std::fmt;
use std::sync::Arc;

/// How far a search with teams is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SearchProgress {
    /// Rounds that are done: in each, what looks best is looked at more closely.
    pub rounds: u64,
    /// Rounds at the most.
    pub most_rounds: u64,
    /// By what part the shortest period that is known is above the one that may be hoped for.
    pub gap: f64,
}

/// Somebody who follows a search, and says whether it should go on.
#[derive(Clone)]
pub(crate) struct Watch(Arc<dyn Fn(&SearchProgress) -> bool + Send + Sync>);

impl Watch {
    pub(crate) fn new(watch: impl Fn(&SearchProgress) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(watch))
    }

    pub(crate) fn wants_more(&self, progress: &SearchProgress) -> bool {
        (self.0)(progress)
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Watch")
    }
}
