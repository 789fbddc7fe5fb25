//! Measuring a network on the processors of a board.
//!
//! [`measure()`] runs segments of a network - the whole, its halves, quarters and so on down to
//! [`ProfileSettings::leaves`] pieces - on every number of cores of every cluster, and returns one sample each.
//! Processors that can work side by side are measured side by side, because that is how a pipeline will use them: what
//! they cost each other is part of the sample. Engines are measured one after the other; clusters without the one at hand
//! work with another one meanwhile. [`measure_operators()`] has the backend tell what each operator takes
//! while the whole network runs. Times of segments come in batches of several frames; a sample is the median of its
//! batches, which continue until the relative standard error is small or the time is used up.
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use millstream_backend_ort::{Environment, OrtBackend};
//! use millstream_board::Board;
//! use millstream_frames::FrameMaker;
//! use millstream_partition::Chain;
//! use millstream_profile::{ProfileSettings, Workload, measure};
//!
//! let model = Arc::new(millstream_zoo::build("squeezenet")?);
//! let backend = OrtBackend::new(&Environment::load()?, Arc::clone(&model));
//! let chain = Chain::of(model.graph());
//! let frame = FrameMaker::new(&model).frame(0)?;
//! let workload = Workload { graph: model.graph(), chain: &chain, backend: &backend, frame: &frame };
//! let samples = measure(&workload, &millstream_machine::detect()?, &ProfileSettings::default(), &[], &mut |_| true)?;
//! println!("{} samples", samples.len());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Invariants: backends are known only through their trait; measuring threads are pinned and joined before
//! [`measure()`] returns; no file is written, and none is read but the kernel's counters and sensors.

mod accelerators;
mod agreement;
mod batches;
mod capture;
mod conditions;
mod error;
mod granularity;
mod measure;
mod operators;
mod parts;
mod power;
mod rounds;
mod side_by_side;
mod stretches;
mod transfers;
mod workload;

pub use accelerators::{measure_accelerator_transfers, measure_accelerators};
pub use batches::BatchedTimes;
pub use conditions::MOST_OTHER_LOAD;
pub use error::ProfileError;
pub use granularity::{GranularityTime, measure_granularity};
pub use measure::{MeasuringProgress, ProfileSettings, measure};
pub use operators::{OperatorSettings, measure_operators};
pub use parts::{PartSettings, measure_parts};
pub use power::measure_power;
pub use stretches::unsupported_operators;
pub use transfers::measure_transfers;
pub use workload::Workload;
