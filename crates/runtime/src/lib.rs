//! Running schedules: frames stream through pinned workers.
//!
//! An [`Engine`] has one worker thread per processor of a schedule, pinned to the processor's first core. Frames pass
//! from stage to stage through bounded queues; results come back in the order in which frames went in, whichever
//! replica worked on them. A frame that fails returns its own [`FrameError`] and disturbs no other.
//!
//! The processors of a stage that owns several work on one frame together: each runs its operators in the order of the
//! schedule, waits only for values that others make, and writes its channels of a shared operator into one buffer.
//! [`Engine::reschedule`] replaces the schedule between two frames, [`Engine::tune`] does so when conditions change,
//! and [`Engine::with_fallback`] goes on without a lost device.
//!
//! A replica whose thread panics, whose device is lost or that gets stuck ([`EngineOptions::frame_timeout`]) costs the
//! frame at hand; it takes no more until it is prepared again, in the background, while the other replicas of its stage
//! go on.
//!
//! ```
//! use std::sync::Arc;
//!
//! use millstream_backend::{Backend, BackendError, PreparedSegment, Segment, Tensor};
//! use millstream_board::Processor;
//! use millstream_graph::{DataType, GraphBuilder, NewOperator, OperatorId, OperatorKind, Shape};
//! use millstream_runtime::{Engine, EngineOptions};
//! use millstream_schedule::{Replica, Schedule, Stage};
//!
//! /// Adds one for every operator of its segment.
//! struct Counting;
//! struct Adder(f32);
//!
//! impl Backend for Counting {
//!     fn name(&self) -> &str { "counting" }
//!     fn supports(&self, _: OperatorId, _: &Processor) -> bool { true }
//!     fn prepare(&self, segment: &Segment, _: &Processor) -> Result<Box<dyn PreparedSegment>, BackendError> {
//!         Ok(Box::new(Adder(segment.operators.len() as f32)))
//!     }
//! }
//!
//! impl PreparedSegment for Adder {
//!     fn run(&mut self, inputs: &[Tensor]) -> Result<Vec<Tensor>, BackendError> {
//!         let sum = inputs[0].as_f32().map_or(0.0, |elements| elements[0]) + self.0;
//!         Ok(vec![Tensor::from_f32([1], vec![sum])])
//!     }
//! }
//!
//! let mut builder = GraphBuilder::new("three");
//! let mut value = builder.value("x", Some(DataType::F32), Some(Shape::from([1])))?;
//! builder.input(value);
//! for index in 0..3 {
//!     let made = builder.value(format!("v{index}"), Some(DataType::F32), Some(Shape::from([1])))?;
//!     builder.operator(NewOperator::new(format!("o{index}"), "Add", OperatorKind::Opaque).reads([value]).makes([made]))?;
//!     value = made;
//! }
//! builder.output(value);
//! let graph = Arc::new(builder.build()?);
//!
//! let stage = |core, operators: &[OperatorId]| Stage {
//!     replicas: vec![Replica::single(Processor::new("B", [core]), operators.to_vec())],
//! };
//! let schedule = Schedule { stages: vec![stage(0, &graph.order()[..1]), stage(1, &graph.order()[1..])] };
//! let engine = Engine::new(&graph, &schedule, &[Arc::new(Counting)], &EngineOptions::default())?;
//! let frames = (0..10).map(|index| vec![Tensor::from_f32([1], vec![index as f32])]);
//! for (index, result) in engine.run(frames).enumerate() {
//!     assert_eq!(result.outcome?[0].as_f32(), Some(&[index as f32 + 3.0][..]));
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Before the first frame, what segments have allocated in regions of 16 MiB or more is moved to huge pages, as
//! [`MemoryMark`](millstream_machine::MemoryMark) says: weights are read for every frame, and take fewer look-ups there.
//!
//! What a replaced schedule held goes back to the system; programs that replace schedules again and again should call
//! [`share_heaps`](millstream_machine::share_heaps) first.
//!
//! Invariants: every frame is answered once, in order, with its outputs or an error; idle workers sleep; dropping an
//! engine takes less than a second, cancels the frames in flight and joins every thread that a backend lets go: one
//! that is stuck, or still preparing a segment, is left behind. This crate knows no model format and no kernel.

mod dispatch;
mod engine;
mod error;
mod generation;
mod generation_id;
mod joining;
mod launch;
mod led_team;
mod memory_release;
mod metrics;
mod options;
mod packet;
mod permits;
mod program;
mod receiving;
mod recovery;
mod replica_id;
mod replica_restart;
mod replica_state;
mod restarts;
mod results;
mod route;
mod sleeper;
mod stop;
mod sync;
mod team;
mod team_factory;
mod threads;
mod tuning;
mod watch;
mod worker;

/// A stand-in for threads and time that decides about the order of everything. Only for the project's own models of
/// this crate.
#[cfg(millstream_shuttle)]
#[doc(hidden)]
pub mod model {
    pub use crate::sync::model::{
        JoinHandle, SleepingScheduler, Thread, fail_spawn, living, now, panics, sleep, sleepers, spawn, standstill,
        step,
    };
}

pub use engine::Engine;
pub use error::{FrameError, RuntimeError};
pub use metrics::{ReplicaMetrics, StageMetrics};
pub use options::EngineOptions;
pub use packet::{FrameResult, StageSpan, StepSpan};
pub use receiving::Received;
pub use results::Results;
pub use tuning::{Goal, Observation, Planner, TuningEvent, TuningEventKind, TuningPolicy};
