//! Failures while measuring: of segments, accelerators and threads.

use millstream_backend::BackendError;
use millstream_board::Processor;
use thiserror::Error;

/// Why a network could not be measured.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// A segment could not be prepared or run.
    #[error("measuring the blocks {start}..{end} on {processor}: {source}")]
    Segment {
        /// First block.
        start: usize,
        /// One past the last block.
        end: usize,
        /// The processor.
        processor: Processor,
        /// What the backend said.
        source: BackendError,
    },
    /// An accelerator could not be measured.
    #[error("measuring {processor}: {source}")]
    Accelerator {
        /// The accelerator.
        processor: Processor,
        /// What the backend said.
        source: BackendError,
    },
    /// A measuring thread can't be started.
    #[error("cannot start a thread to measure on {processor}: {source}; allow more threads or memory")]
    Thread {
        /// The processor.
        processor: Processor,
        /// What the system says.
        source: std::io::Error,
    },
    /// A measuring thread panicked.
    #[error("measuring on {processor} panicked")]
    Panicked {
        /// The processor.
        processor: Processor,
    },
}
