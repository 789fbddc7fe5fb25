//! Schedules: which processors run which operators, in which order, in how many pipeline stages.
//!
//! A [`Schedule`] is a list of stages. Each stage has one or more replicas on disjoint processors; each replica assigns
//! the stage's operators to its processors. [`Schedule::validate`] checks a schedule against a graph and a board,
//! [`Schedule::evaluate`] computes its period and latency from a cost table, and [`ScheduleDocument`] is its file form.
//! The notation `B4-(s2|s2)` reads: a stage on four big cores, then a stage with two replicas on two small cores each.
//!
//! ```
//! use millstream_board::Processor;
//! use millstream_cost::{CostTable, Nanoseconds};
//! use millstream_schedule::{Replica, Schedule, Stage};
//!
//! let model = millstream_zoo::build("tiny-darknet")?;
//! let graph = model.graph();
//! let (front, back) = graph.order().split_at(20);
//! let stage = |processor: Processor, operators: &[_]| Stage {
//!     replicas: vec![Replica::single(processor, operators.to_vec())],
//! };
//! let schedule = Schedule {
//!     stages: vec![stage(Processor::new("B", [0]), front), stage(Processor::new("s", [1]), back)],
//! };
//! assert_eq!(schedule.to_string(), "B1-s1");
//!
//! let classes = schedule.processors().map(|processor| processor.class());
//! let mut table = CostTable::new(graph.operators().len(), classes);
//! for processor in table.class_ids() {
//!     for operator in table.operator_ids() {
//!         table.set_time(processor, operator, Nanoseconds(1000));
//!     }
//! }
//! let evaluation = schedule.evaluate(graph, &table)?;
//! assert_eq!(evaluation.latency, Nanoseconds(1000 * graph.operators().len() as u64));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Invariants: the rules by which operators run (self-timed execution, whole nanoseconds) are written once, in
//! [`execution`], and every number that is promised comes from them; heuristics that only choose may estimate more
//! simply. This crate searches nothing and runs nothing.

mod constraints;
mod crossing;
mod documents;
mod energy;
mod error;
mod evaluate;
pub mod execution;
mod footprint;
mod hand_over;
mod inseparable_tasks;
mod least_period;
mod notation;
mod objective;
mod replica_tasks;
mod schedule;
mod service_rates;
mod splits;
mod stage_id;
mod task_time;
mod tasks;
mod validate;

pub use constraints::{Achieved, Constrained, MissedConstraint, StatedConstraints};
pub use crossing::{Crossing, FrameWays, crossing_bytes, input_bytes, output_bytes};
pub use documents::prediction::{Prediction, SearchedBound};
pub use documents::schedule::{BoardReference, ModelReference, SCHEDULE_FORMAT, SCHEDULE_VERSION, ScheduleDocument};
pub use documents::searched_space::SearchedSpace;
pub use documents::set::{SCHEDULE_SET_FORMAT, SCHEDULE_SET_VERSION, ScheduleSetDocument, SharedSchedule};
pub use documents::sizes::{SIZES_FORMAT, SIZES_VERSION, SizesDocument};
pub use documents::stages::{AssignmentDocument, ReplicaDocument, SplitDocument, StageDocument};
pub use energy::Energy;
pub use error::ScheduleError;
pub use evaluate::{Evaluation, LinkEvaluation, StageEvaluation};
pub use footprint::{Footprints, check_memory_together, held_bytes, repeated_weight_bytes};
pub use hand_over::Entry;
pub use inseparable_tasks::InseparableTasks;
pub use objective::Objective;
pub use replica_tasks::ReplicaTasks;
pub use schedule::{Assignment, OperatorSplit, Replica, Schedule, Stage};
pub use service_rates::{
    LinkUse, OccupiedLink, SharedLink, period_of, replica_rates, replicated_period, shared_period,
};
pub use stage_id::StageId;
pub use task_time::task_time;
pub use tasks::{Share, Task, TaskInput, bytes_shared};
