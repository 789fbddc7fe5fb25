//! Search for pipeline stages: exact for single processors and replicas.
//!
//! A [`Problem`] is a network's chain of blocks, a board's clusters, and a cost table. A stage is a contiguous range of
//! blocks with one or more replicas, each a number of cores of one cluster or an accelerator; stages come in any order.
//! [`best_period()`] finds the pipeline with the shortest period, [`pareto_front`] every trade-off between period
//! and latency, and [`choose`] picks from the front what an [`Objective`] asks for. The first two are exact for the
//! given costs and stages on one processor each, or replicas of it: none of these pipelines has a shorter period than
//! what [`best_period()`] returns. That is not so where a pipeline does not fit into the memory, where stages or
//! replicas wait for each other before a link, and where processors compete for the memory's bandwidth. [`PeriodBound`]
//! holds there too. [`ThroughputBound`] is a period that no schedule of any kind goes below. [`Problem::with_teams`]
//! adds stages whose processors work on one frame together; their times are those of the best mappings and channel
//! splits that were found. [`PipeIt`] is the published heuristic and [`ParaPipe`] the published enumeration, behind the
//! same trait as [`ShortestPeriod`]. [`SystemProblem`] is the problem of several boards with links between them.
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
//! for processor in table.class_ids() {
//!     for operator in table.operator_ids() {
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
//! Feature `highs` (on by default): teams of processors are mapped with the solver HiGHS at hand. Without it nothing in
//! C or C++ is compiled; a large team's mapping may then have a weaker bound, and take all its steps.
//!
//! The code is in folders that have an order: a file uses files of its own folder and of the rows above, and of no row
//! below. Tests look at everything.
//!
//! | folder or file | what is there |
//! |---|---|
//! | `error.rs`, `inputs.rs` | errors, and what problems are made from |
//! | `board` | a board's processors as searches count them: numbers of cores, kinds of senders, power |
//! | `ways` | ways to run a stage, by number, and what replicas on them give |
//! | `times` | what each stage takes on a single processor, parts of operators at least, and places of stages in tables |
//! | `teams` | what stages take on several processors that work on one frame together: bounds, and the best that was found |
//! | `plan` | plans and their constraints, and which of several is wanted |
//! | `problem` | [`Problem`]: the above for one network on one board; from stages to plans, and from plans to schedules |
//! | `lazy_evaluation` | which teams are evaluated in the course of a search |
//! | `memory` | plans that fit into the memory that processors share |
//! | `options` | the sets of replicas of each stage that searches choose from |
//! | `period` | the search for the shortest period, and bounds that no period goes below |
//! | `front` | the front of period and latency |
//! | `energy` | the front of period, latency and energy |
//! | `best_period.rs`, `search.rs` | the shortest period that fits into the memory, and what all searches have in common |
//! | `whole_network.rs` | plans of one stage: what one would pick without a search |
//! | `published` | searches of the literature, to compare with |
//! | `sharing` | several networks on one board |
//! | `hosts` | one network on several boards |
//!
//! Invariants: nothing here measures or guesses times. The numbers of a [`Plan`] that a search found are those that
//! [`Schedule::evaluate`](millstream_schedule::Schedule::evaluate) says of its schedule, unless a trial has shown
//! others ([`Plan::with_measured`], [`Problem::scale_team`]).

mod best_period;
mod board;
mod energy;
mod error;
mod front;
mod hosts;
mod inputs;
mod lazy_evaluation;
mod memory;
mod options;
mod period;
mod plan;
mod problem;
mod published;
mod search;
mod sharing;
mod teams;
mod times;
mod ways;
mod whole_network;

/// How the hard algorithms of this crate work: their data, steps, invariants and complexity, and why they are as they
/// are.
pub mod explained {
    #[doc = include_str!("../docs/pareto-front.md")]
    pub mod pareto_front {}

    #[doc = include_str!("../docs/energy-front.md")]
    pub mod energy_front {}

    #[doc = include_str!("../docs/teams.md")]
    pub mod teams {}
}

pub use best_period::best_period;
pub use board::cluster_id::ClusterId;
pub use energy::energy_front::{ClockedPlan, clocked_front, energy_front, energy_front_within_memory};
pub use error::PipelineError;
pub use front::pareto_front::{pareto_front, pareto_front_within_memory};
pub use hosts::{HostDivision, HostPlace, SystemFront, SystemProblem};
pub use inputs::ProblemInputs;
pub use memory::fitting::PlansWithinMemory;
pub use millstream_schedule::Objective;
pub use period::period_bound::PeriodBound;
pub use period::placement::{PlacedStage, best_placement};
pub use period::reachable_states::{ReachableState, ReachableStates};
pub use period::throughput_bound::ThroughputBound;
pub use plan::constraints::Constraints;
pub use plan::nanojoules::Nanojoules;
pub use plan::objective::{choose, score};
pub use plan::{Plan, PlannedReplica, PlannedStage};
pub use problem::Problem;
pub use published::design_space::{design_points, pipelines};
pub use published::para_pipe::{ParaPipe, ParaPipeStrategy, para_pipe_points};
pub use published::pipe_it::{PipeIt, PipeItStep};
pub use search::{Search, ShortestPeriod};
pub use sharing::processor_division::{divide_as_rated, divide_processors};
pub use sharing::share::{divide_memory, share, take_turns};
pub use sharing::tenant::{Sharing, Tenant};
pub use teams::effort::Effort;
pub use teams::progress::SearchProgress;
pub use teams::space::{TeamSpace, teams_of};
pub use teams::team_bounds::DualPrices;
pub use teams::work::TeamWork;
pub use whole_network::whole_network_plans;
