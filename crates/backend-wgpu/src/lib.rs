//! The GPU backend: compute shaders with thread granularity, and explicit transfers.
//!
//! A segment becomes a list of compute shaders over buffers of the device, with the sizes of the layers written into
//! them; normalisation and activation run with the convolution before them. A frame is uploaded, computed and
//! downloaded. How many outputs a thread of a convolution computes, and which, is a [`WorkChoice`]: fixed, or by a
//! convolution's amount of work. Operators that the device can't run are not supported, and
//! [`Backend::supports`](millstream_backend::Backend::supports) says so beforehand.
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use millstream_backend::{Backend, Segment, Tensor};
//! use millstream_backend_wgpu::{Gpu, WgpuBackend};
//! use millstream_board::Processor;
//!
//! let model = Arc::new(millstream_zoo::build("squeezenet")?);
//! let backend = WgpuBackend::new(&Gpu::open(None)?, "G", Arc::clone(&model));
//! let whole = Segment::whole(model.graph());
//! let mut prepared = backend.prepare(&whole, &Processor::accelerator("G"))?;
//! let outputs = prepared.run(&[Tensor::from_f32([1, 3, 224, 224], vec![0.5; 3 * 224 * 224])])?;
//! assert_eq!(outputs[0].shape().dimensions(), [1, 1000]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Invariants: without a device, [`detect`] finds nothing and [`Gpu::open`] says what is missing; nothing panics.
//! Weights are uploaded once for all segments that have them. The device is waited for no longer than [`GpuOptions`]
//! say. A device that is lost is an error of every later frame.

mod backend;
mod channels;
mod convolution;
mod extent;
mod gpu;
mod layer;
mod lock;
mod own_model;
mod part;
mod plan;
mod preparing;
mod segment;
mod shaders;
mod windows;
mod work;

pub use backend::WgpuBackend;
pub use gpu::{Gpu, GpuOptions, detect};
pub use work::{Policy, ThreadWork, WorkChoice};
