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
}
