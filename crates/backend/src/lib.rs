//! What executes operators.
//!
//! A [`Backend`] prepares a [`Segment`] (a set of operators with the values that cross its border) for a processor; the
//! [`PreparedSegment`] then runs frame after frame. [`Tensor`]s pass between segments by reference: a backend that
//! receives a tensor which it made itself gets its own storage back and copies nothing. An [`Observed`] backend also
//! records what its operators and transfers take.
//!
//! ```
//! use millstream_backend::{BackendError, PreparedSegment, Tensor};
//!
//! struct Doubler;
//!
//! impl PreparedSegment for Doubler {
//!     fn run(&mut self, inputs: &[Tensor]) -> Result<Vec<Tensor>, BackendError> {
//!         let floats = inputs[0].as_f32().ok_or_else(|| BackendError::failed("expects f32"))?;
//!         Ok(vec![Tensor::from_f32(inputs[0].shape().clone(), floats.iter().map(|x| 2.0 * x).collect())])
//!     }
//! }
//!
//! let outputs = Doubler.run(&[Tensor::from_f32([2], vec![1.0, 2.0])])?;
//! assert_eq!(outputs[0].as_f32(), Some(&[2.0, 4.0][..]));
//! # Ok::<(), BackendError>(())
//! ```
//!
//! Invariants: this crate contains no kernels and starts no threads; a tensor never changes once it is made.

mod backend;
mod cover;
mod error;
pub mod marks;
mod observed;
mod packaged;
mod segment;
mod several;
mod tensor;
mod threads;
mod whole;

pub use backend::{Backend, Canceller, PreparedSegment, check_inputs, copy_output};
pub use cover::{Node, cover};
pub use error::BackendError;
pub use observed::{Observed, OperatorTimes, TransferTimes, run_timed};
pub use packaged::library_folder;
pub use segment::Segment;
pub use several::Several;
pub use tensor::{Storage, Tensor};
pub use threads::ThreadChoice;
pub use whole::WholeNetwork;
