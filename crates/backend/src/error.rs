use thiserror::Error;

/// Why a backend could not prepare or run something.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum BackendError {
    /// The backend's library or device is not there.
    #[error("the backend '{backend}' is not available: {detail}")]
    Unavailable {
        /// The backend.
        backend: String,
        /// What is missing and how to get it.
        detail: String,
    },
    /// A segment could not be prepared.
    #[error("cannot prepare the segment from '{first}' to '{last}': {detail}")]
    Prepare {
        /// First operator.
        first: String,
        /// Last operator.
        last: String,
        /// What went wrong.
        detail: String,
    },
    /// A frame's tensor does not fit.
    #[error("input '{value}' must be {expected}, but is {found}")]
    Input {
        /// The value.
        value: String,
        /// Type and shape that it must have.
        expected: String,
        /// Type and shape that it has.
        found: String,
    },
    /// Running failed.
    #[error("{detail}")]
    Failed {
        /// What went wrong.
        detail: String,
    },
}

impl BackendError {
    /// A failure while running.
    pub fn failed(detail: impl Into<String>) -> Self {
        Self::Failed { detail: detail.into() }
    }
}
