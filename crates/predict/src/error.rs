//! Why costs could not be derived.

use millstream_board::{DocumentError, ProcessorClass};
use thiserror::Error;

/// Why costs could not be derived.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PredictError {
    /// A profile, a file of cost models or a file of measurements can't be read.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// A profile or cost models are of another board.
    #[error(
        "the {what} of board '{profile}' (fingerprint {profile_fingerprint}), not of '{board}' (fingerprint {board_fingerprint}); take what belongs to this board, or pass the other board"
    )]
    OtherBoard {
        /// What is of another board: `profile is`, `cost models are`.
        what: &'static str,
        /// Its board.
        profile: String,
        /// Its fingerprint.
        profile_fingerprint: String,
        /// The board asked for.
        board: String,
        /// Its fingerprint.
        board_fingerprint: String,
    },
    /// The profile has no samples of a processor.
    #[error("the profile has no samples of {class}; profile again without restricting the processors")]
    MissingProcessor {
        /// The processor class.
        class: ProcessorClass,
    },
    /// There are too few samples to fit a model.
    #[error(
        "too few samples of {what}: there are {found} samples of different shape and {needed} are needed; profile for longer, with a sweep over layers"
    )]
    TooFewSamples {
        /// What was sampled.
        what: String,
        /// How many there are.
        found: usize,
        /// How many it takes.
        needed: usize,
    },
    /// The samples do not vary enough to fit a model.
    #[error("the samples of {what} can't determine a model: {detail}; profile layers of other shapes, with a sweep")]
    Degenerate {
        /// What was sampled.
        what: String,
        /// What is missing.
        detail: String,
    },
    /// A table of measured phases has other columns than it should.
    #[error("{detail}; the columns are {known}")]
    Columns {
        /// What is wrong with them.
        detail: String,
        /// What may be there.
        known: String,
    },
    /// A field of a table of measured phases can't be used.
    #[error("line {line}, column '{column}': {detail}")]
    Cell {
        /// Its line, counted from 1.
        line: u64,
        /// Its column.
        column: String,
        /// What is wrong with it.
        detail: String,
    },
    /// The rows of a table of measured phases can't be used.
    #[error("the rows of measured phases: {detail}")]
    Rows {
        /// What is wrong with them.
        detail: String,
    },
    /// A board does not have the accelerator that a model is of.
    #[error("board '{board}' {detail}")]
    NoAccelerator {
        /// The board.
        board: String,
        /// What it has.
        detail: String,
    },
    /// A board does not say how many channels an accelerator makes at a time.
    #[error(
        "board '{board}' does not say how many processing elements accelerator {label} has, which equation 3 counts with; add \
         `processing_elements` to it in the board file"
    )]
    ProcessingElements {
        /// The accelerator's label.
        label: String,
        /// The board.
        board: String,
    },
    /// The fitted models lack a processor of the board.
    #[error("there is no cost model for {class}; profile this board again and fit its models")]
    MissingModel {
        /// The processor class.
        class: ProcessorClass,
    },
}
