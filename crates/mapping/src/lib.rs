//! Placing the operators of one subgraph on several processors, so that a frame is done soon.
//!
//! A [`MappingProblem`] has nodes with times per processor and dependencies with transfer times. Its nodes are the
//! tasks of the task graph that mappings are evaluated on, so both are named by [`TaskId`] and [`ProcessorId`]. A
//! [`Mapper`] returns a [`Mapping`]: placement, order, makespan, and a lower bound that says how much better any other
//! mapping could be. [`BoundedMapper`] is the default; `CoarseIlp`, `FineIlp`, [`Heft`], [`Cpop`], [`LayerSwitched`]
//! and [`SingleProcessor`] are what others do. [`explained`] says how the search and its bound work.
//!
//! ```
//! use millstream_cost::Nanoseconds;
//! use millstream_mapping::{Edge, BoundedMapper, MapperLimits, Mapper, MappingProblem, Outcome, TaskId};
//!
//! // A source, two branches and a sink on two equal processors; a transfer takes 2 ns.
//! let transfer = [[0, 2], [2, 0]].map(|row| row.map(Nanoseconds).to_vec()).to_vec();
//! let edge = |from, to| Edge::new(TaskId::new(from), TaskId::new(to), transfer.clone());
//! let problem = MappingProblem::new(
//!     ["source", "left", "right", "sink"].map(str::to_owned).to_vec(),
//!     [1, 10, 10, 1].map(|time| vec![Some(Nanoseconds(time)); 2]).to_vec(),
//!     vec![edge(0, 1), edge(0, 2), edge(1, 3), edge(2, 3)],
//! )?;
//! let mapping = BoundedMapper.map(&problem, &MapperLimits::default())?;
//! assert_eq!(mapping.makespan.0, 1 + 2 + 10 + 1, "the sink waits for the branch that paid for the transfer already");
//! assert_eq!((mapping.outcome, mapping.gap()), (Outcome::Optimal, 0.0));
//! # Ok::<(), millstream_mapping::MappingError>(())
//! ```
//!
//! [`map_network()`] maps all subgraphs of a network: one after the other, each for every processor on which the one
//! before may have ended. What it returns is the best composition of the mappings that were found, subgraph after
//! subgraph. That is for comparison with the literature: stages on teams, whose operators may also be divided, are
//! searched in `millstream-pipeline`.
//!
//! Feature `highs` (on by default): integer programs, solved by HiGHS. Without it nothing but Rust is compiled; the
//! published programs `CoarseIlp` and `FineIlp` are not there, and [`BoundedMapper`] searches as it does otherwise,
//! with a weaker lower bound: small problems are still solved to the end, large ones may take all their steps where the
//! bound would have stopped them.
//!
//! The code is in folders that have an order: a file uses files of its own folder and of the rows above, and of no row
//! below. Tests look at everything.
//!
//! | folder or file | what is there |
//! |---|---|
//! | `error.rs` | errors |
//! | `side_by_side.rs` | several computations at a time |
//! | `problem` | [`MappingProblem`]: nodes, edges, processors that are alike, and the rules by which every mapping is evaluated |
//! | `mapper` | [`Mapper`]: what all offer, what they return, and when they stop |
//! | `bounds` | lower bounds by longest paths and by the load of processors |
//! | `published` | list scheduling, and mappers of the literature that need no solver |
//! | `search` | mappings to begin with, and what makes them better by small changes |
//! | `programs`, `no_programs.rs` | integer programs and their relaxation, solved by HiGHS |
//! | `branch_and_bound` | the search through all choices |
//! | `quick.rs` | short searches that do for many small problems |
//! | `series` | problems that nodes divide into parts, solved part by part |
//! | `bounded.rs` | [`BoundedMapper`]: all of the above, some of it at the same time |
//! | `network` | whole networks, subgraph after subgraph, as in the literature |
//!
//! Invariants: every mapping is evaluated by the same rules ([`MappingProblem::execute`]), whichever mapper found it;
//! results are the same in every run, on every machine (searches are limited by steps; only [`FineIlp`] heeds the
//! clock); no bound exceeds what any mapping achieves.

mod bounded;
mod bounds;
mod branch_and_bound;
mod error;
mod mapper;
mod network;
mod problem;
#[cfg(feature = "highs")]
mod programs;
#[cfg(not(feature = "highs"))]
#[path = "no_programs.rs"]
mod programs;
mod published;
mod quick;
mod search;
mod series;
mod side_by_side;

/// How the hard algorithms of this crate work: their data, steps, invariants and complexity, and why they are as they
/// are.
pub mod explained {
    #[doc = include_str!("../docs/branch-and-bound.md")]
    pub mod branch_and_bound {}

    #[doc = include_str!("../docs/relaxation.md")]
    pub mod relaxation {}
}

pub use bounded::BoundedMapper;
pub use error::MappingError;
pub use mapper::Mapper;
pub use mapper::limits::{MapperLimits, STEPS_PER_SECOND};
pub use mapper::mapping::Mapping;
pub use mapper::outcome::Outcome;
pub use millstream_schedule::execution::{OutputId, ProcessorId, TaskId};
pub use network::{NetworkMapping, SubgraphMapping, compose, entered_problem, map_network};
pub use problem::MappingProblem;
pub use problem::edge::Edge;
#[cfg(feature = "highs")]
pub use programs::{CoarseIlp, FineIlp};
pub use published::cpop::Cpop;
pub use published::heft::Heft;
pub use published::layer_switched::LayerSwitched;
pub use published::single::SingleProcessor;
pub use search::annealing::Annealing;
pub use side_by_side::{on_threads, side_by_side};

#[cfg(test)]
extern crate self as millstream_mapping;
#[cfg(test)]
#[path = "../tests/problems/mod.rs"]
mod problems;
