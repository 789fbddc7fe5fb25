//! Why operators could not be mapped.

use thiserror::Error;

/// Why operators could not be mapped.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MappingError {
    /// No processor that may be used can run an operator.
    #[error(
        "operator '{operator}' can run on none of the processors that may be used; add a processor that supports it"
    )]
    Unsupported {
        /// The operator.
        operator: String,
    },
    /// A problem is not one.
    #[error("not a mapping problem: {detail}")]
    Shape {
        /// What is wrong with it.
        detail: String,
    },
    /// Nothing was found that runs every operator.
    #[error("no mapping was found in which every operator runs on a processor that supports it")]
    NoMapping,
    /// The solver failed.
    #[error("the solver failed: {detail}")]
    Solver {
        /// What it said.
        detail: String,
    },
}
