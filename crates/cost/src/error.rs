use millstream_board::ProcessorClass;
use thiserror::Error;

/// Why costs could not be derived.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CostError {
    /// A profile document is not readable.
    #[error("not a profile: {detail}; make a new one with `cargo xtask profile`")]
    Malformed {
        /// What is wrong, with line and column where known.
        detail: String,
    },
    /// A profile document says something impossible.
    #[error("the profile's {field} {detail}; make a new one with `cargo xtask profile`")]
    Invalid {
        /// The field, as a path into the document.
        field: String,
        /// What is wrong with it.
        detail: String,
    },
    /// The profile was taken on another board.
    #[error(
        "the profile is of board '{profile}' (fingerprint {profile_fingerprint}), not of '{board}' (fingerprint {board_fingerprint}); profile this board, or pass the board that it belongs to"
    )]
    OtherBoard {
        /// Board of the profile.
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
        "too few samples of {what}: there are {found} samples of different shape and {needed} are needed; profile more with `cargo xtask profile` (a longer --budget, without --no-sweep)"
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
    #[error(
        "the samples of {what} can't determine a model: {detail}; profile layers of other shapes with `cargo xtask profile` (without --no-sweep)"
    )]
    Degenerate {
        /// What was sampled.
        what: String,
        /// What is missing.
        detail: String,
    },
    /// A file of measurements is not readable.
    #[error("not a file of measurements: {detail}")]
    MalformedMeasurements {
        /// What is wrong, with line and column where known.
        detail: String,
    },
    /// A file of measurements says something impossible.
    #[error("the measurements' {field} {detail}")]
    InvalidMeasurements {
        /// The field, as a path into the document.
        field: String,
        /// What is wrong with it.
        detail: String,
    },
    /// A document of fitted models is not readable.
    #[error("not a file of cost models: {detail}; make a new one with `cargo xtask fit`")]
    MalformedModels {
        /// What is wrong, with line and column where known.
        detail: String,
    },
    /// A document of fitted models says something impossible.
    #[error("the cost models' {field} {detail}; make a new file with `cargo xtask fit`")]
    InvalidModels {
        /// The field, as a path into the document.
        field: String,
        /// What is wrong with it.
        detail: String,
    },
    /// The fitted models lack a processor of the board.
    #[error("there is no cost model for {class}; profile this board again and run `cargo xtask fit`")]
    MissingModel {
        /// The processor class.
        class: ProcessorClass,
    },
}
