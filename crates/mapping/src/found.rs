//! Mappings that are being improved.

use millstream_cost::Nanoseconds;

use crate::mapping::{Mapping, Outcome, placement_of};
use crate::node_range::NodeRange;
use crate::{MappingProblem, TaskId};

/// Orders of nodes per processor, and how long they take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) order: Vec<Vec<TaskId>>,
    pub(crate) makespan: u64,
}

/// How a search goes.
#[derive(Debug, Clone)]
pub(crate) struct Course {
    pub(crate) moves: usize,
    /// The same seed gives the same result.
    pub(crate) seed: u64,
    /// The nodes that it moves.
    pub(crate) nodes: NodeRange,
    /// Part of the start's makespan that a move may lose at the beginning.
    pub(crate) heat: f64,
}

pub(crate) fn finish(problem: &MappingProblem, found: Found, lower: u64, outcome: Outcome) -> Mapping {
    let placement = placement_of(problem.len(), &found.order);
    // Evaluated once more like every other mapping: searches may have left processors idle for nothing.
    let makespan = problem.makespan(&found.order).unwrap_or(Nanoseconds(found.makespan));
    Mapping { placement, order: found.order, makespan, lower_bound: Nanoseconds(lower), outcome, steps: 0 }
}
