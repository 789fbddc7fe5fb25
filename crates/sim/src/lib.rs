//! Discrete-event simulation of schedules: many frames, queues between stages, transfers beside computation, noise; and with
//! [`simulate_streams`] several networks on one board, memory bandwidth, temperatures, and cores that come and go.
//! Over several boards, links between hosts carry one frame at a time, slow down, and hosts are lost.
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
//! for processor in table.processors() {
//!     (0..table.operators()).for_each(|operator| table.set_time(processor, operator, Nanoseconds(1000)));
//! }
//! let simulation = simulate(&schedule, graph, &table, &SimulationSettings::default())?;
//! assert_eq!(simulation.period_seconds(), schedule.evaluate(graph, &table)?.period.seconds());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Invariants: without noise, periods and latencies are those that [`Schedule::evaluate`](millstream_schedule::Schedule::evaluate)
//! gives; the same seed gives the same events; no frame is lost or repeated.

mod conditions;
mod error;
mod faults;
mod feeding;
mod heat;
mod heating;
mod linking;
mod links;
mod operators;
mod plan;
mod result;
mod settings;
mod simulation;
mod speed;
mod state;
mod steady;
mod stream;

pub use conditions::{ClusterThermal, Conditions, Disturbance, DisturbanceKind, Unit};
pub use error::SimulationError;
pub use result::{OperatorSpan, Simulation};
pub use settings::SimulationSettings;
pub use simulation::{simulate, simulate_streams, simulate_streams_until};
pub use steady::SteadyState;
pub use stream::SimulatedNetwork;
