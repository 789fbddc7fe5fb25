//! Faults of the suite's own files: some that can't be read, and lists of refusals that are malformed.

use std::path::PathBuf;

use thiserror::Error;

/// Why the suite itself could not be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConformanceError {
    /// A file or folder could not be read.
    #[error("cannot read {}: {source}; the models have to be fetched first", path.display())]
    Io {
        /// Which one.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A line of the list of refusals is none.
    #[error("line {line} of the list of refusals: {detail}")]
    Refusals {
        /// Its number.
        line: usize,
        /// What is wrong.
        detail: String,
    },
}
