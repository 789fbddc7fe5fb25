//! The CPU backend over ONNX Runtime.
//!
//! A segment becomes an in-memory ONNX sub-model with a session of its own, whose threads are pinned to the processor's
//! cores. All segments of a backend share the model's weights: those that lie aligned in the model are not copied,
//! others once, and what is copied or rearranged for a segment is kept as long as a segment has it ([`KeptWeights`]).
//! ONNX Runtime is loaded at run time from the file that `ORT_DYLIB_PATH` names (`cargo xtask` sets it), else from
//! `../lib` beside the program's own folder, as packages have it, else from where the system looks for libraries.
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use millstream_backend::{Backend, Segment, Tensor};
//! use millstream_backend_ort::{Environment, OrtBackend};
//! use millstream_board::Processor;
//!
//! let model = Arc::new(millstream_zoo::build("squeezenet")?);
//! let backend = OrtBackend::new(&Environment::load()?, Arc::clone(&model));
//! let whole = Segment::whole(model.graph());
//! let mut prepared = backend.prepare(&whole, &Processor::new("B", [0]))?;
//! let outputs = prepared.run(&[Tensor::from_f32([1, 3, 224, 224], vec![0.5; 3 * 224 * 224])])?;
//! assert_eq!(outputs[0].shape().dimensions(), [1, 1000]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`OrtBackend::with_provider`] computes on cores with the kernels of an execution provider, and
//! [`OrtBackend::on_device`] on the device of one: of those that the library was built with, or of a plug-in. What a
//! device takes is asked of the partition that ONNX Runtime makes of the whole model; a segment of which a part would
//! run on cores is refused there.
//!
//! [`OrtBackend::with_cache`] keeps optimised sessions for the next start, in a folder that the caller chooses.
//!
//! Invariants: a tensor that one session made is handed to the next without a copy; sessions do not spin while no frame
//! is in them; this crate does not pin the calling thread, which belongs to the caller, and puts it back where it lets
//! it run on more cores while a provider starts threads; ONNX Runtime collects usage data only if the environment
//! variable [`TELEMETRY`] is 1; results are the same bits with and without a cache.

mod backend;
mod borrowed;
mod built_in_providers;
mod cancellation;
mod convert;
mod destination;
mod detection;
mod environment;
mod library;
mod lock;
mod partition;
mod place;
mod plain;
mod preparation;
mod prepare;
mod provider;
mod session;
mod session_cache;
mod session_key;
mod taken;
mod trace;
mod transfer;
mod weights;
mod whole_library;
mod whole_times;

pub use backend::{OrtBackend, SessionSettings, Spinning, ThreadUse};
pub use environment::{Environment, TELEMETRY};
pub use plain::{Declared, PlainSession};
pub use preparation::Preparation;
pub use session_cache::SessionCache;
#[doc(hidden)]
pub use trace::operator_times;
pub use weights::KeptWeights;
