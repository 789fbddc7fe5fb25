//! What the package `millstream` is as a library: from an ONNX network and a machine to frames through it. Programs depend on `millstream`;
//! this package is what that package's command, the Python package and the library for C are made with.
//!
//! A [`Machine`] is a board, often this computer; a [`Network`] an ONNX file or a built-in one. [`Machine::plan`] measures the
//! network if nobody did before, finds the best schedule for an [`Aim`], and tries it out; a [`Stream`] runs it. [`Control`] tells the
//! caller what goes on, and ends it early.
//!
//! ```
//! use std::path::Path;
//!
//! use millstream_api::{Aim, Control, CostSource, Machine, Network, PlanOn, ReadOptions, plan};
//!
//! let network = Network::open("zoo:squeezenet", ReadOptions::default())?;
//! let board = Path::new("khadas-vim3");
//! let machine = Machine::read(board)?;
//! let on = PlanOn::Costs(CostSource::Models(board));
//! let planned = plan(&machine, &network, &Aim::default(), on, &Control::new())?;
//! assert!(planned.document.predicted.lower_bound_period_seconds <= planned.document.predicted.period_seconds);
//! # Ok::<(), millstream_api::Error>(())
//! ```
//!
//! [`plan_published`] makes schedules by algorithms that others published, and [`compare_published`] sets all of them beside the exact search.
//! Several networks share a board with [`plan_shared`]; [`run()`] streams frames through one or several schedules at once and checks
//! every result; [`tune()`] searches by running schedules; [`compare()`] sets ours beside what one would use otherwise. A single network
//! is a set of one in all of them.
//!
//! A [`Session`] is what interfaces for other languages are made of: a stream that any number of callers share, each with frames of its own.
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
mod dimensions;
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
mod memory_parts;
mod network;
mod network_share;
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
mod simulate_options;
mod simulating;
mod sizes;
mod steady;
mod stream;
mod sweeping;
mod systems;
mod thread;
mod trial;
mod tuning;

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
    TURN, TurnOptions, Waiting, compare, session_options, with_slow_cores,
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
pub use network_share::NetworkShare;
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
pub use session::{
    Limits, Owner, Session, SessionReport, SessionRequest, Submissions, Submitted, misfit, not_within,
    positive_seconds, wait_for,
};
pub(crate) use set_on_drop::SetOnDrop;
pub use sharing::{Shared, plan_shared};
pub use simulate_options::{MemoryCompetition, SimulateOptions};
pub use simulating::{Rounds, Simulated, rounds_hertz, simulate};
pub use stream::Stream;
pub use systems::{CheckedFrames, HostPart, Hosts, LoadedPart, SystemPlan, SystemRival, plan_system};
pub(crate) use thread::thread;
pub use tuning::{TuneAlgorithm, TuneOn, TuneOptions, Tuned, tune};
