//! Pipeline stages, found exactly.
//!
//! A [`Problem`] is a network's chain of blocks, a board's clusters, and a cost table. A stage is a contiguous range of
//! blocks with one or more replicas, each a number of cores of one cluster or an accelerator; stages come in any order.
//! [`best_period`] finds the schedule with the highest throughput, [`pareto_front`] every trade-off between period and
//! latency, and [`choose`] picks from the front what an [`Objective`] asks for. All three are exact for the given costs
//! and stages on one processor each, or replicas of it: none of these pipelines has a shorter period than what [`best_period`] returns,
//! unless it does not fit into the memory, or stages or replicas wait for each other before a link. [`PeriodBound`] holds there too.
//! [`ThroughputBound`] is a period that no schedule of any kind goes below. [`Problem::with_teams`] adds stages whose processors
//! work on one frame together; their times are those of the best mappings and channel splits that were found. [`PipeIt`] is the
//! published heuristic and [`ParaPipe`] the published enumeration, behind the same trait as [`ShortestPeriod`].
//! [`SystemProblem`] is the same of several boards with links between them.
//! [`explained`] says how the searches work.
//!
//! ```
//! use millstream_board::Board;
//! use millstream_cost::{CostTable, Nanoseconds};
//! use millstream_partition::Chain;
//! use millstream_pipeline::{Problem, best_period};
//!
//! let board = Board::from_json(r#"{"format": "millstream-board", "version": 1, "name": "pair", "clusters": [
//!     {"label": "B", "capacity": 1024, "cores": [{"id": 0}]}, {"label": "s", "capacity": 341, "cores": [{"id": 1}]}]}"#)?;
//! let model = millstream_zoo::build("tiny-darknet")?;
//! let mut table = CostTable::new(model.graph().operators().len(), board.processor_classes());
//! for processor in table.processors() {
//!     for operator in 0..table.operators() {
//!         let slowness = if processor.index() == 0 { 1 } else { 3 };
//!         table.set_time(processor, operator, Nanoseconds(1000 * slowness));
//!     }
//! }
//! let chain = Chain::of(model.graph());
//! let problem = Problem::new(model.graph(), &chain, &board, &table)?;
//! let plan = best_period(&problem)?;
//! let schedule = problem.schedule(&plan);
//! assert!(plan.period < Nanoseconds(1000 * 3 * model.graph().operators().len() as u64 / 4 + 3000));
//! assert_eq!(schedule.evaluate(model.graph(), &table)?.period, plan.period);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Feature `highs` (on by default): teams of processors are mapped with the solver HiGHS at hand. Without it nothing in C or C++ is
//! compiled; a large team's mapping may then have a weaker bound, and take all its steps.
//!
//! Invariants: nothing here measures or guesses times. The numbers of a [`Plan`] that a search found are those that
//! [`Schedule::evaluate`](millstream_schedule::Schedule::evaluate) says of its schedule, unless a trial has shown others
//! ([`Plan::with_measured`], [`Problem::scale_team`]).

mod allocations;
mod bounded_stages;
mod constraints;
mod core_sets;
mod cores;
mod design_space;
mod division;
mod effort;
mod energy;
mod energy_allocations;
mod energy_front;
mod energy_search;
mod error;
mod experience;
mod front;
mod ground;
mod hosts;
mod known_options;
mod latency_remainders;
mod least_memory;
mod link_ground;
mod memory;
mod multisets;
mod nanojoules;
mod objective;
mod para_pipe;
mod period;
mod period_bound;
mod pipe_it;
mod placement;
mod plan;
mod planning;
mod problem;
mod range_table;
mod reach;
mod refining;
mod regions;
mod replica_link;
mod search;
mod senders;
mod shared_links;
mod sharing;
mod shortest_period;
mod single_rates;
mod stage_option;
mod stage_options;
mod stage_periods;
mod stage_power;
mod stage_times;
mod team;
mod team_bounds;
mod team_passages;
mod team_solution;
mod team_tiles;
mod team_way;
mod team_work;
mod teams_of;
mod tenant;
mod throughput_bound;
mod timed_way;
mod undominated;
mod useful_ways;
mod watch;
mod way;
mod ways;
mod ways_by_cores;

/// How the hard algorithms of this crate work: their data, steps, invariants and complexity, and why they are as they are.
pub mod explained {
    #[doc = include_str!("../docs/pareto-front.md")]
    pub mod pareto_front {}

    #[doc = include_str!("../docs/energy-front.md")]
    pub mod energy_front {}

    #[doc = include_str!("../docs/teams.md")]
    pub mod teams {}
}

pub use constraints::Constraints;
pub use design_space::{design_points, pipelines};
pub use division::{divide_as_rated, divide_processors};
pub use effort::Effort;
pub use energy_front::{ClockedPlan, clocked_front, energy_front};
pub use error::PipelineError;
pub use front::pareto_front;
pub use hosts::{HostDivision, SystemFront, SystemProblem};
pub use millstream_schedule::Objective;
pub use nanojoules::Nanojoules;
pub use objective::{choose, score};
pub use para_pipe::{ParaPipe, Strategy, para_pipe_points};
pub use period_bound::PeriodBound;
pub use pipe_it::{PipeIt, PipeItStep};
pub use placement::{PlacedStage, best_placement};
pub use plan::{Plan, PlannedReplica, PlannedStage};
pub use problem::Problem;
pub use reach::{Reach, SingleProcessorReach};
pub use search::{Search, ShortestPeriod};
pub use sharing::{divide_memory, share, take_turns};
pub use shortest_period::best_period;
pub use team::TeamWorths;
pub use team_work::TeamWork;
pub use teams_of::{TeamSpace, teams_of};
pub use tenant::{Sharing, Tenant};
pub use throughput_bound::ThroughputBound;
pub use watch::SearchProgress;
