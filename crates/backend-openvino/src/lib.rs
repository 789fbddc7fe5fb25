//! A backend over [OpenVINO](https://docs.openvino.ai): kernels for CPUs, and for Intel's GPUs and NPUs where they are.
//!
//! [`OpenVino`] is the loaded library; [`OpenVinoBackend`] prepares segments of one model. A segment becomes a compiled
//! model of its own, made by the thread that runs it, with as many threads as its processor has cores.
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use millstream_backend::{Backend, Segment, Tensor};
//! use millstream_backend_openvino::{OpenVino, OpenVinoBackend};
//! use millstream_board::Processor;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let model = Arc::new(millstream_zoo::build("squeezenet")?);
//! let backend = OpenVinoBackend::new(&OpenVino::load()?, Arc::clone(&model));
//! let mut prepared = backend.prepare(&Segment::whole(model.graph()), &Processor::new("B", [0]))?;
//! let outputs = prepared.run(&[Tensor::from_f32([1, 3, 224, 224], vec![0.5; 3 * 224 * 224])])?;
//! assert_eq!(outputs[0].shape().dimensions(), [1, 1000]);
//! # Ok(())
//! # }
//! ```
//!
//! # Where the library is
//!
//! In the folder that the variable [`VARIABLE`] names, which may be that of the Python package
//! (`pip install --target FOLDER openvino`), or where the system has it. It is loaded when somebody asks for it and not
//! before, and has to be of a version that this was written for.
//!
//! # Which cores compute
//!
//! A processor of one core: the thread that runs the segment and no other. The library keeps the affinity of the thread
//! that uses it first and moves others there, so [`OpenVino::load`] has a thread of its own use it first, which may run
//! everywhere. Of several cores: the thread that runs the segment, on its core, and threads that the library has once
//! for the whole process. These are confined to the cores of all processors of several cores that are in use: to those
//! of the processor if it is the only one; where there are several, threads of one may take part on the cores of
//! another. After the first frame the backend looks whether the thread that runs the segment is still on its cores,
//! puts it back if not, and warns if that does not last.
//!
//! A frame can't be ended early: OpenVINO heeds that only of frames that a thread of its own computes while the one
//! that asked waits, which costs two switches between threads a segment.
//!
//! # Memory
//!
//! Each prepared segment has its own copy of its weights, in the order that kernels want: two workers of one network
//! take twice its weights, and while they are prepared the bytes of the sub-model once more, which workers of the same
//! segment share. A segment with its weights must be below 2 GiB.
//!
//! # What is refused
//!
//! | operator | when |
//! |---|---|
//! | any, on cores | [a precision](Precision) was asked for that the processor has no instructions for |
//! | any | it reads something of whose shape nothing is known, as behind `NonZero`; it has floats of 64 bits, which the library computes with 32, or strings |
//! | any | the library says so when it reads the operator (`BitCast`, `CumProd`, `DeformConv`, `Det`, `MaxUnpool`, `TensorScatter`, `TfIdfVectorizer`, those of `ai.onnx.ml`, training `Dropout`, `GridSample` of volumes, some `QLinearMatMul`), or gives the result another shape |
//! | arithmetic, comparisons, sums, `Clip`, `Where`, `Cast` | a constant that it is given has integers that 32 bits have no place for |
//! | `Attention` | causal, with past keys |
//! | `AveragePool` | `count_include_pad`, where sizes are rounded up so that windows go beyond the padding |
//! | `DFT` | always |
//! | `LSTM` | with peepholes |
//! | `Resize` | `antialias`, `exclude_outside`, `keep_aspect_ratio_policy` |
//! | `Tile` | the number of times is computed |
//!
//! Quantised networks are computed with floats that are rounded where the model says, in every segment alike; with
//! integers, as the library would by itself, roundings move, and results depend on where a network is cut.
//! [`OpenVinoBackend::with_precision`] allows that.
//!
//! Integers of 64 bits are computed with 32: those of frames, or made on the way, that do not fit come out as the largest or least that does.
//! NaN comes out of `Relu`, `Clip`, `Max`, `Min` and `MaxPool` as a number. ONNX's
//! own test models show what else differs at edges; `crates/conformance/refusals-openvino.txt` lists them.
//!
//! Invariants: this crate does not pin the calling thread, but puts it back where the library moves it; nothing is
//! computed with less precision than the model says unless [`OpenVinoBackend::with_precision`] is asked for, but on an
//! NPU, which has no floats of 32 bits; the library never writes to a tensor that it was given to read.

mod backend;
mod convert;
mod device_ids;
mod devices;
mod error;
mod library;
mod lock;
mod mover;
mod native;
mod pinning;
mod places;
mod pool;
mod refusals;
mod renamed;
mod results;
mod segment;
mod settings;
mod shared_models;
mod trace;
mod transfer;
mod versions;

pub use backend::OpenVinoBackend;
pub use devices::Device;
pub use error::OpenVinoError;
pub use library::OpenVino;
pub use settings::{Hint, Precision};
pub use versions::VARIABLE;

/// What the backend is called.
pub const NAME: &str = "openvino";
