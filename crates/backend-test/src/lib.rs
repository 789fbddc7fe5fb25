//! The conformance suite that every backend instantiates.
//!
//! A backend's test says how to open it, as a [`Subject`]; [`conformance!`] makes a test of every [`Point`]. Adding a
//! backend is one crate, a subject and one line:
//!
//! ```
//! use std::sync::Arc;
//!
//! use millstream_backend::{BackendError, Observed};
//! use millstream_backend_test::{Point, Subject};
//! use millstream_board::Processor;
//! use millstream_onnx::Model;
//!
//! fn open(_: &Arc<Model>) -> Result<Box<dyn Observed>, BackendError> {
//!     Err(BackendError::Unavailable { backend: "mine".to_owned(), detail: "it is still to be written".to_owned() })
//! }
//!
//! fn subject() -> Subject {
//!     Subject::new(Processor::new("B", [0]), Processor::accelerator("G"), open).tolerance(1e-3)
//! }
//!
//! // In the backend's tests/conformance.rs:
//! millstream_backend_test::conformance!(subject());
//! # fn main() {
//! assert!(Point::Values.check(&subject()).is_err_and(|detail| detail.contains("still to be written")));
//! # }
//! ```
//!
//! What counts as right does not come from the backend under test: small cases have results computed by hand, and a
//! subject may name another backend to compare with. Without one, networks are compared with themselves, divided in
//! different ways.
//!
//! On a device that is emulated, whole networks take minutes. A [`slow`](Subject::slow) subject runs the networks that
//! it names as a whole, and of every network each distinct operator once: those of much work with a part of their
//! channels.
//!
//! Invariants: no point knows a particular backend; a point fails with what is wrong, it does not panic; every point
//! fails for some faulty backend of this crate's own tests.

mod concurrency;
mod destination;
mod frames;
mod golden;
mod lost_device;
mod misfits;
mod models;
mod networks;
mod observed;
mod operators;
mod part_models;
mod parts;
mod point;
mod refusals;
mod rig;
mod seams;
mod subject;
mod tensors;
mod tile_models;
mod tiles;
mod values;

pub use point::Point;
pub use subject::{Losable, Subject};
