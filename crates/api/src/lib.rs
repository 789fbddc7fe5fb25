//! What the package `millstream` is as a library: from an ONNX network and a machine to frames through it. Programs
//! depend on `millstream`; this package is what that package's command, the Python package and the library for C are
//! made with.
//!
//! A [`Machine`] is a board, often this computer; a [`Network`] an ONNX file or a built-in one. [`Machine::plan`]
//! measures the network if it was not measured before, searches for a schedule that suits an [`Aim`], and tries it out;
//! a [`Stream`] runs it. [`Control`] reports progress to the caller, and ends it early.
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
//! [`plan_published`] makes schedules by algorithms that others published, and [`compare_published`] sets all of them
//! beside Millstream's own. Several networks share a board with [`plan_shared`]; [`run()`] streams frames through one
//! or several schedules at once and checks every result; [`tune()`] searches by running schedules; [`compare()`] sets
//! ours beside plain ONNX Runtime and OpenVINO. A single network is a set of one in all of them.
//!
//! A [`Session`] is what interfaces for other languages are made of: a stream that any number of callers share, each
//! with frames of its own. What else those interfaces share is in [`bindings`].
//!
//! Features, all on by default: `ort` runs operators on cores with ONNX Runtime, `openvino` with OpenVINO, `wgpu` on
//! graphics devices, `highs` brings the integer programs of operator mapping, which give stronger bounds. Without
//! engines, networks can be planned for on costs that are known, and simulated.
//!
//! The source is in folders by what they serve, each of which uses those before it and none behind it:
//!
//! - `backends`: what runs operators, engine by engine; each may be left out.
//! - `network`: a network, and the frames for it.
//! - `machine`: the board that networks run on, the boards that are built in, and the profiles that are kept.
//! - `measuring`: profiles of networks, and the costs that they give.
//! - `schedules`: schedules with their networks: files written and read, and engines that run them.
//! - `simulating`: frames through schedules on a board that need not be here.
//! - `plans`: the search on costs, within an aim, and what is chosen of what it found.
//! - `learning`: plans tried out on this computer, from which the next search learns.
//! - `planning`: the way from a network to its plan, or from several networks to plans that share a board.
//! - `certifying`: certificates written and checked.
//! - `run`: frames streamed and checked, measured or handed to the caller, and schedules changed while they flow.
//! - `session`: a stream that many callers share, and in `bindings.rs` what libraries for other languages take of it.
//! - `contest`: schedules beside plain ONNX Runtime and OpenVINO.
//! - `tuning`: searches that run schedules.
//! - `published`: algorithms that others published.
//! - `systems`: networks over several boards.
//!
//! Invariants: nothing is printed; every error is an [`Error`]; files are written whole or not at all.

mod backends;
pub mod bindings;
mod certifying;
mod contest;
mod control;
mod error;
pub mod files;
mod interference;
mod learning;
mod machine;
mod measuring;
mod network;
mod planning;
mod plans;
mod provenance;
mod published;
mod published_algorithm;
mod run;
mod schedules;
mod session;
mod simulating;
mod systems;
mod threads;
mod tuning;

// Whatever a signature here mentions can be named without another dependency.
pub use millstream_machine::CpuQuota;
pub use {
    millstream_backend as backend, millstream_board as board, millstream_cost as cost, millstream_frames as frames,
    millstream_graph as graph, millstream_onnx as onnx, millstream_pipeline as pipeline, millstream_predict as predict,
    millstream_profile as profile, millstream_runtime as runtime, millstream_schedule as schedule,
    millstream_sim as sim,
};

pub use backends::EngineReport;
pub use certifying::certify;
pub use contest::{
    ContenderReport, MeasuredSession, NetworkContest, SessionContest, SessionOptions, SlowCore, SlowedCores, Slowing,
    TURN, TurnOptions, Waiting, compare, session_options, with_slow_cores,
};
pub use control::{Control, Event, Progress, ProgressUnit};
pub use error::{Error, ErrorKind};
pub use interference::Interference;
pub use machine::{BuiltInBoard, Machine, engines};
pub use measuring::{CostSource, PROFILE_BUDGET, read_profile};
pub use millstream_backend::Tensor;
pub use millstream_board::{AskedEngines, EngineName, EngineSet, ReducedPrecision};
pub use millstream_machine::share_heaps;
pub use millstream_onnx::ReadOptions;
pub use millstream_pipeline::{Constraints, Objective};
pub use millstream_runtime::EngineOptions;
pub use network::{Inputs, Network};
pub use planning::{NetworkShare, PlanOn, Planned, Shared, plan, plan_shared, plan_with_clocks};
pub use plans::{Aim, Plans, choose_clocks, clocks_text};
pub use provenance::provenance;
pub use published::{PublishedComparison, PublishedPlan, PublishedRow, SearchWork, compare_published, plan_published};
pub use published_algorithm::PublishedAlgorithm;
pub use run::{
    AdaptationReport, Camera, ExpectedReport, FrameLog, FrameObserver, LatencySummary, Loaded, NetworkOutcome,
    NetworkRun, OperatorReport, RUN_REPORT_FORMAT, RUN_REPORT_VERSION, RunLength, RunOptions, RunReport, RunSource,
    StageReport, Stream, Taken, Throttling, WarmUp, WhenLate, run, run_observed,
};
pub use schedules::{Scheduled, document, read_schedules};
pub use session::{Session, SessionReport};
pub use simulating::{MemoryCompetition, Rounds, SimulateOptions, Simulated, rounds_hertz, simulate};
pub use systems::{
    AsReceived, CheckedFrames, HostPart, Hosts, LoadedPart, OnHosts, SystemDivision, SystemPlan, SystemRival,
    plan_system,
};
pub use tuning::{TuneAlgorithm, TuneOn, TuneOptions, Tuned, tune};
