//! Placing the operators of one subgraph on several processors, so that a frame is done soon.
//!
//! A [`MappingProblem`] has nodes with times per processor and dependencies with transfer times. Its nodes are the tasks of the task graph
//! that mappings are evaluated on, so both are named by [`TaskId`] and [`ProcessorId`]. A [`Mapper`] returns a [`Mapping`]: placement, order, makespan, and a lower bound that says how much better any other mapping could be. [`ExactMapper`] is the
//! default; `CoarseIlp`, `FineIlp`, [`Heft`], [`Cpop`], [`LayerSwitched`] and [`SingleProcessor`] are what others do.
//! [`explained`] says how the search and its bound work.
//!
//! ```
//! use millstream_mapping::{Edge, ExactMapper, MapperLimits, Mapper, MappingProblem, Outcome, TaskId};
//!
//! // A source, two branches and a sink on two equal processors; a transfer takes 2 ns.
//! let transfer = vec![vec![0, 2], vec![2, 0]];
//! let edge = |from, to| Edge::new(TaskId::new(from), TaskId::new(to), transfer.clone());
//! let problem = MappingProblem::new(
//!     ["source", "left", "right", "sink"].map(str::to_owned).to_vec(),
//!     vec![vec![Some(1), Some(1)], vec![Some(10), Some(10)], vec![Some(10), Some(10)], vec![Some(1), Some(1)]],
//!     vec![edge(0, 1), edge(0, 2), edge(1, 3), edge(2, 3)],
//! )?;
//! let mapping = ExactMapper.map(&problem, &MapperLimits::default())?;
//! assert_eq!(mapping.makespan.0, 1 + 2 + 10 + 1, "the sink waits for the branch that paid for the transfer already");
//! assert_eq!((mapping.outcome, mapping.gap()), (Outcome::Optimal, 0.0));
//! # Ok::<(), millstream_mapping::MappingError>(())
//! ```
//!
//! [`map_network()`] maps all subgraphs of a network: one after the other, each for every processor on which the one before may
//! have ended, so that the composition is the best there is.
//!
//! Feature `highs` (on by default): integer programs, solved by HiGHS. Without it nothing but Rust is compiled; the published
//! programs `CoarseIlp` and `FineIlp` are not there, and [`ExactMapper`] searches as it does otherwise, with a weaker lower bound: small
//! problems are still solved to the end, large ones may take all their steps where the bound would have stopped them.
//!
//! Invariants: every mapping is evaluated by the same rules ([`MappingProblem::execute`]), whichever mapper found it; results are
//! the same in every run, on every machine (searches are limited by steps; only [`FineIlp`] heeds the clock); no bound exceeds what any mapping achieves.

mod annealing;
mod bounds;
mod branch_and_bound;
mod cpop;
mod edge;
mod error;
mod exact;
mod found;
mod heft;
mod layer_switched;
mod lists;
mod load;
mod local_search;
mod mapping;
mod network;
mod node_range;
mod problem;
#[cfg(feature = "highs")]
mod programs;
#[cfg(not(feature = "highs"))]
#[path = "no_programs.rs"]
mod programs;
mod quick;
mod series;
mod single;
mod starts;
mod tabu;

/// How the hard algorithms of this crate work: their data, steps, invariants and complexity, and why they are as they are.
pub mod explained {
    #[doc = include_str!("../docs/branch-and-bound.md")]
    pub mod branch_and_bound {}

    #[doc = include_str!("../docs/relaxation.md")]
    pub mod relaxation {}
}

pub use annealing::Annealing;
pub use cpop::Cpop;
pub use edge::Edge;
pub use error::MappingError;
pub use exact::ExactMapper;
pub use heft::Heft;
pub use layer_switched::LayerSwitched;
pub use mapping::{Mapper, MapperLimits, Mapping, Outcome, STEPS_PER_SECOND};
pub use millstream_schedule::execution::{OutputId, ProcessorId, TaskId};
pub use network::{NetworkMapping, SubgraphMapping, compose, entered_problem, map_network};
pub use problem::MappingProblem;
#[cfg(feature = "highs")]
pub use programs::{CoarseIlp, FineIlp};
pub use single::SingleProcessor;

#[cfg(test)]
extern crate self as millstream_mapping;
#[cfg(test)]
#[path = "../tests/problems/mod.rs"]
mod problems;
