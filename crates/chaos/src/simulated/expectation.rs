//! What a scenario must come to.

/// What is reported of a scenario besides that all was well.
pub(crate) struct Expectation {
    pub(crate) frames: u64,
    pub(crate) has_timeout: bool,
    pub(crate) is_dropped: bool,
    /// A thread was made not to start.
    pub(crate) lacks_threads: bool,
}

/// Replicas are started again so often within a minute: fewer losses than that never cost anything but the frame at
/// hand.
pub(crate) const RESTARTS: usize = 5;
