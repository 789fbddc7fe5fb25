//! Test models that nobody here made, through every way of running.
//!
//! A [`Case`] is a model with inputs, as ONNX's own test suite has them. [`check()`] runs it in plain ONNX Runtime and
//! then here: as a whole, block by block, as a pipeline of two stages, in replicas, and with operators divided by
//! channels and by rows, and compares everything. An [`EngineUnderTest`] says what runs it here. What ONNX Runtime runs
//! must run here and agree, or stand on the list of [`Refusals`] with its reason.
//!
//! ```
//! use millstream_conformance::{Expected, Refusals};
//!
//! let refusals = Refusals::parse("== sequences: has no known element type\ntest_sequence_insert\n")?;
//! assert_eq!(refusals.expected("test_sequence_insert"), Some(&Expected::Refusal("has no known element type".to_owned())));
//! # Ok::<(), millstream_conformance::ConformanceError>(())
//! ```
//!
//! Invariants: nothing here chooses a tolerance of its own; a model that runs must not be on the list of refusals.

mod case;
mod check;
mod engine;
mod error;
mod refusals;
mod ways;

pub use case::Case;
pub use check::{CheckOutcome, check, check_network};
pub use engine::EngineUnderTest;
pub use error::ConformanceError;
pub use refusals::{Expected, Refusals};
