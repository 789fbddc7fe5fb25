//! From an ONNX network and a machine to frames through it: measure, plan, stream, adapt.
//!
//! A [`Machine`] is a board, often this computer; a [`Network`] an ONNX file or a built-in one. [`Machine::plan`] measures the
//! network if nobody did before, finds the best schedule for an [`Aim`], and tries it out; a [`Stream`] runs it. [`Control`] tells the
//! caller what goes on, and ends it early.
//!
//! ```no_run
//! use millstream::{Aim, Constraints, Control, EngineOptions, Machine, Network, Objective, ReadOptions, Stream, Tensor};
//!
//! let control = Control::new();
//! let machine = Machine::detect()?;
//! let network = Network::open("zoo:squeezenet", ReadOptions::default())?;
//! machine.profile(&network, std::time::Duration::from_secs(5), &control)?;
//! let within = Constraints { max_latency: Some(std::time::Duration::from_secs(1).into()), ..Constraints::default() };
//! let scheduled = machine.plan(network, &Aim::best(Objective::Throughput).within(within), &control)?;
//! let stream = Stream::start(&machine, &scheduled, &EngineOptions::default())?;
//! let frame = || vec![Tensor::from_f32([1, 3, 224, 224], vec![0.5; 3 * 224 * 224])];
//! stream.run_adapting((0..50).map(|_| frame()), &control, |result| {
//!     println!("frame {}: {:?}", result.sequence, result.outcome.map(|outputs| outputs[0].shape().clone()));
//! })?;
//! println!("{}: {}", scheduled.document.configuration, stream.latency());
//! # Ok::<(), millstream::Error>(())
//! ```
//!
//! [`plan_published`] makes schedules by algorithms that others published, and [`compare_published`] sets all of them beside the exact search.
//! Several networks share a board with [`plan_shared`]; [`run()`] streams frames through one or several schedules at once and checks
//! every result; [`tune()`] searches by running schedules; [`compare()`] sets ours beside what one would use otherwise. A single network
//! is a set of one in all of them.
//!
//! The [`tutorial`] goes through it step by step.
//!
//! A [`Session`] is what interfaces for other languages are made of: a stream that any number of callers share, each with frames of its own.
//!
//! The command `millstream` is in the package `millstream-cli`: `cargo install millstream-cli`. This package has no command, so that programs which use
//! the library need not compile what only the command needs.
//!
//! Features, all on by default: `ort` runs operators on cores with ONNX Runtime, `openvino` with OpenVINO, `wgpu` on graphics devices, `highs` brings the
//! integer programs of operator mapping, which give stronger bounds. Without engines, networks can be planned for on costs that are
//! known, and simulated.
//!
//! Invariants: nothing is printed; every error is an [`Error`]; files are written whole or not at all.

mod aim;
mod backends;
mod built_in;
mod certifying;
mod clocks;
mod contest;
mod control;
mod disturbance;
mod document;
mod engine;
mod error;
pub mod files;
mod inputs;
mod learning;
mod lessons;
mod loading;
mod machine;
mod measured;
mod measuring;
mod network;
mod planning;
mod plans;
mod profile_cache;
mod profiling;
mod published;
mod run;
mod scheduled;
mod session;
mod set_on_drop;
mod shared_memory;
mod sharing;
mod simulating;
mod sizes;
mod steady;
mod stream;
mod sweeping;
mod systems;
mod thread;
mod trial;
mod tuning;

/// First steps, from a network to frames through it.
// Its examples run networks.
#[cfg(any(not(doctest), feature = "ort"))]
#[doc = include_str!("../docs/rust-program.md")]
pub mod tutorial {}

// Whatever a signature here mentions can be named without another dependency.
pub use millstream_machine::CpuQuota;
pub use {
    millstream_backend as backend, millstream_board as board, millstream_cost as cost, millstream_frames as frames,
    millstream_graph as graph, millstream_onnx as onnx, millstream_pipeline as pipeline, millstream_predict as predict,
    millstream_profile as profile, millstream_runtime as runtime, millstream_schedule as schedule,
    millstream_sim as sim,
};

pub use aim::Aim;
pub use backends::{EngineReport, engines};
pub use built_in::BuiltInBoard;
pub use certifying::certify;
pub use clocks::{choose_clocks, clocks_text};
pub use contest::{
    ContenderReport, MeasuredSession, NetworkContest, SessionContest, SessionOptions, SlowCore, SlowedCores, Slowing,
    Waiting, compare, session_options, with_slow_cores,
};
pub use control::{Control, Event, Progress, ProgressUnit};
pub use document::document;
pub use error::{Error, ErrorKind};
pub use inputs::Inputs;
pub use loading::{Loaded, RunSource};
pub use machine::Machine;
pub use millstream_backend::Tensor;
pub use millstream_board::{EngineName, EngineSet};
pub use millstream_machine::share_heaps;
pub use millstream_onnx::ReadOptions;
pub use millstream_pipeline::{Constraints, Objective};
pub use millstream_runtime::EngineOptions;
pub use network::Network;
pub use planning::{PlanOn, Planned, plan, plan_with_clocks};
pub use plans::Plans;
pub use profiling::{CostSource, PROFILE_BUDGET, provenance, read_profile};
pub use published::{
    PublishedAlgorithm, PublishedComparison, PublishedPlan, PublishedRow, SearchWork, compare_published, plan_published,
};
pub use run::{
    AdaptationReport, Camera, ExpectedReport, FrameLog, FrameObserver, LatencySummary, NetworkOutcome, NetworkRun,
    OperatorReport, RUN_REPORT_FORMAT, RUN_REPORT_VERSION, RunLength, RunOptions, RunReport, StageReport, Taken,
    Throttling, WarmUp, WhenLate, run, run_observed,
};
pub use scheduled::{Scheduled, read_schedules};
pub use session::{Limits, Owner, Session, SessionReport, SessionRequest, Submitted, positive_seconds};
pub(crate) use set_on_drop::SetOnDrop;
pub use sharing::{Share, Shared, plan_shared};
pub use simulating::{MemoryCompetition, Rounds, SimulateOptions, Simulated, rounds_hertz, simulate};
pub use stream::Stream;
pub use systems::{Hosts, SystemPlan, SystemRival, plan_system};
pub(crate) use thread::thread;
pub use tuning::{TuneAlgorithm, TuneOn, TuneOptions, Tuned, tune};
