//! Why a call did not do what it was asked for.

use millstream_api::runtime::FrameError;
use millstream_api::{Error, ErrorKind};

use crate::border::MsStatus;

/// A number for programs and a text for people.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: MsStatus,
    pub(crate) message: String,
}

impl Failure {
    pub(crate) fn new(status: MsStatus, message: impl Into<String>) -> Self {
        Self { status, message: message.into() }
    }

    pub(crate) fn argument(message: impl Into<String>) -> Self {
        Self::new(MsStatus::InvalidArgument, message)
    }

    pub(crate) fn frame(message: impl Into<String>) -> Self {
        Self::new(MsStatus::InvalidFrame, message)
    }

    /// Why a frame has no result.
    pub(crate) fn of_frame(sequence: u64, error: &FrameError) -> Self {
        let status = match error {
            FrameError::Input { .. } | FrameError::InputCount { .. } => MsStatus::InvalidFrame,
            _ => MsStatus::FrameFailed,
        };
        Self::new(status, format!("frame {sequence}: {error}"))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let status = match error.kind() {
            ErrorKind::File => MsStatus::FileError,
            ErrorKind::Unfit => MsStatus::InvalidArgument,
            ErrorKind::Unavailable => MsStatus::LibraryMissing,
            _ => MsStatus::Failed,
        };
        Self::new(status, error.to_string())
    }
}
