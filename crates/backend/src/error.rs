//! Failures of backends: missing libraries, segments that can't be prepared, lost devices, failed frames.

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
    /// The device is gone or unusable: no later frame will succeed on it either.
    #[error("the device of the backend '{backend}' is lost: {detail}; look at its driver, or plan without it")]
    DeviceLost {
        /// The backend.
        backend: String,
        /// What the device's driver said.
        detail: String,
    },
    /// There is not enough memory on a device.
    #[error("the device of the backend '{backend}' has not enough memory: {detail}")]
    OutOfMemory {
        /// The backend.
        backend: String,
        /// What was asked for.
        detail: String,
    },
    /// A [`Canceller`](crate::Canceller) ended the run. The segment can run the next frame.
    #[error("the frame was ended before it was done")]
    Cancelled,
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
