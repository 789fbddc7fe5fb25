//! The best order that a search has so far.

use millstream_cost::Nanoseconds;
use millstream_schedule::execution::TaskId;

use crate::mapper::mapping::{Mapping, placement_of};
use crate::mapper::outcome::Outcome;
use crate::problem::MappingProblem;
use crate::problem::node_range::NodeRange;

/// The best order so far: nodes per processor, and their makespan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Incumbent {
    pub(crate) order: Vec<Vec<TaskId>>,
    pub(crate) makespan: Nanoseconds,
}

/// How a local search goes on.
#[derive(Debug, Clone)]
pub(crate) struct AnnealingSettings {
    /// The most moves; annealing makes fewer where there are not enough steps for them.
    pub(crate) moves: usize,
    /// Annealing takes one in so many of the steps that are left at the most, unless that is too little.
    pub(crate) share: u64,
    /// Seed of the random moves; equal seeds give equal results.
    pub(crate) seed: u64,
    /// The nodes that it moves.
    pub(crate) nodes: NodeRange,
    /// Part of the start's makespan that a move may lose at the beginning.
    pub(crate) first_temperature: f64,
}

/// The mapping that an order amounts to, evaluated by the common rules.
pub(crate) fn finish(problem: &MappingProblem, incumbent: Incumbent, lower: Nanoseconds, outcome: Outcome) -> Mapping {
    let placement = placement_of(problem.len(), &incumbent.order);
    // Evaluated once more like every other mapping: searches may have left processors idle for nothing.
    let makespan = problem.makespan(&incumbent.order).unwrap_or(incumbent.makespan);
    Mapping { placement, order: incumbent.order, makespan, lower_bound: lower, outcome, steps: 0 }
}
