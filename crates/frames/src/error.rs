//! Failures with frames and results: unreadable files, misfits, and inputs for which nothing can be made up.

use std::path::PathBuf;

use millstream_backend::BackendError;
use thiserror::Error;

/// Why frames could not be had, or results not be written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FramesError {
    /// A file or folder could not be read or written.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// `read` or `write`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file is not what its name says.
    #[error("{}: {detail}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        detail: String,
    },
    /// What was given does not fit the network's inputs or outputs.
    #[error("{detail}")]
    Misfit {
        /// What does not fit, and what would.
        detail: String,
    },
    /// There are frames for other inputs of a network, and none for this one.
    #[error("nothing is given for the input '{value}', which is {expected}; give frames for it as well")]
    Missing {
        /// The input.
        value: String,
        /// Its type and shape.
        expected: String,
    },
    /// A file does not say which of several inputs it is for.
    #[error("{}: say which input it is for; the network has {inputs}", path.display())]
    WhichInput {
        /// The file.
        path: PathBuf,
        /// The network's inputs.
        inputs: String,
    },
    /// No frame can be made up for an input.
    #[error(
        "no frame can be made up: the {what} of the input '{value}' is not known; give frames of your own, or what needs none: a \
         schedule, or costs that are known"
    )]
    Unknown {
        /// The input.
        value: String,
        /// `shape` or `element type`.
        what: &'static str,
    },
    /// Frames need more memory than they may have.
    #[error(
        "{what} take {} MiB, more than the {} MiB that there is room for; {remedy}",
        bytes >> 20,
        limit >> 20
    )]
    TooLarge {
        /// Whose frames.
        what: String,
        /// What they take.
        bytes: u64,
        /// What there is.
        limit: u64,
        /// What to do.
        remedy: &'static str,
    },
    /// The network itself refuses every made-up frame.
    #[error(
        "the network refuses made-up frames ({tried} kinds of values were tried); try real frames. It says: {source}"
    )]
    Refused {
        /// How many kinds of values were tried.
        tried: usize,
        /// What the network said to the most plausible of them.
        source: BackendError,
    },
}

impl FramesError {
    pub(crate) fn reading(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        |source| Self::Io { action: "read", path, source }
    }

    pub(crate) fn writing(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        |source| Self::Io { action: "write", path, source }
    }

    pub(crate) fn format(path: impl Into<PathBuf>, detail: impl Into<String>) -> Self {
        Self::Format { path: path.into(), detail: detail.into() }
    }

    pub(crate) fn misfit(detail: impl Into<String>) -> Self {
        Self::Misfit { detail: detail.into() }
    }
}
