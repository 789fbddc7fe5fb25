//! Discrete-event simulation of schedules: many frames, queues between stages, transfers beside computation, noise; and
//! with [`simulate_streams`] several networks on one board, memory bandwidth, temperatures, and cores that come and go.
//! Over several boards, links between hosts, and from and to outside, carry one frame at a time, slow down, and hosts
//! are lost.
//!
//! ```
//! use millstream_board::Processor;
//! use millstream_cost::{CostTable, Nanoseconds};
//! use millstream_schedule::{Replica, Schedule, Stage};
//! use millstream_sim::{SimulationSettings, simulate};
//!
//! let model = millstream_zoo::build("squeezenet")?;
//! let graph = model.graph();
//! let stage = |cluster: &str, core: u32, operators: &[_]| Stage {
//!     replicas: vec![Replica::single(Processor::new(cluster, [core]), operators.to_vec())],
//! };
//! let (front, back) = graph.order().split_at(30);
//! let schedule = Schedule { stages: vec![stage("B", 4, front), stage("s", 0, back)] };
//! let mut table = CostTable::new(graph.operators().len(), schedule.processors().map(|processor| processor.class()));
//! for processor in table.class_ids() {
//!     table.operator_ids().for_each(|operator| table.set_time(processor, operator, Nanoseconds(1000)));
//! }
//! let simulation = simulate(&schedule, graph, &table, &SimulationSettings::default())?;
//! assert_eq!(simulation.period_seconds(), schedule.evaluate(graph, &table)?.period.seconds());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The code has these parts, each of which uses only those before it:
//!
//! - `input`: the networks that are simulated, and the conditions;
//! - `outcome`: what a simulation shows;
//! - `replica_plan`: a schedule with its tasks and times looked up;
//! - `state`: the event queue, the board, its links and the streams at a moment, each with invariants of its own;
//! - `processes`: what changes that state, such as frames that move, operators that run, temperatures and faults;
//! - `run`: the loop over all events, and the entry points.
//!
//! Invariants: the same seed gives the same events; no frame is lost or repeated. Without noise, limits on memory, heat
//! and disturbances, and with the frames in flight that are usual, periods are those that
//! [`Schedule::evaluate`](millstream_schedule::Schedule::evaluate) gives, and so is the latency of a frame that is
//! alone. Where stages or unlike replicas share a link
//! ([`Evaluation::shares_board_links`](millstream_schedule::Evaluation::shares_board_links)), they wait for each other,
//! and periods may differ.

mod error;
mod input;
mod outcome;
mod processes;
mod replica_plan;
mod run;
mod state;

pub use error::SimulationError;
pub use input::conditions::{ClusterThermal, Conditions, Disturbance, DisturbanceKind, Unit};
pub use input::settings::SimulationSettings;
pub use input::simulated_network::SimulatedNetwork;
pub use outcome::{FrameTimes, OperatorSpan, PerProcessor, Simulation, SpeedChange};
pub use run::entry_points::{simulate, simulate_streams, simulate_streams_until};
pub use run::steady_state::SteadyState;
