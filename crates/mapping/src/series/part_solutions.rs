//! The solution of a part of a problem between two of its nodes, for every pair of processors on which these may be.

use millstream_cost::Nanoseconds;
use millstream_schedule::execution::{ProcessorId, TaskId};

use crate::bounds::PathBounds;
use crate::error::MappingError;
use crate::mapper::budget::Budget;
use crate::mapper::limits::MapperLimits;
use crate::problem::MappingProblem;
use crate::problem::edge::Edge;
use crate::quick;
use crate::search::starts;

/// Nodes of a part beyond which it is not worth the look.
const MOST_NODES: usize = 256;

/// A mapping of a part. Times are from the end of the node before the part to the end of the part.
pub(crate) struct Solution {
    /// No mapping of the part takes less.
    pub(crate) bound: Nanoseconds,
    pub(crate) makespan: Nanoseconds,
    /// Nodes of the problem, for each processor.
    pub(crate) order: Vec<Vec<TaskId>>,
}

/// A node on one of its processors.
#[derive(Clone, Copy)]
struct FixedNode {
    node: TaskId,
    processor: ProcessorId,
}

/// Solutions of the part after one node up to another, or from the beginning: a row for each processor of the first
/// one, in which each processor of the last one has a place. `None` where there is no such mapping.
pub(crate) fn solutions(
    problem: &MappingProblem,
    from: Option<TaskId>,
    to: TaskId,
    limits: &MapperLimits<'_>,
    budget: &Budget<'_>,
) -> Result<Vec<Vec<Option<Solution>>>, MappingError> {
    let begins: Vec<Option<FixedNode>> = match from {
        Some(node) => problem.processors().map(|processor| Some(FixedNode { node, processor })).collect(),
        None => vec![None],
    };
    let of = |begin: Option<FixedNode>, processor: ProcessorId| {
        solution(problem, begin, FixedNode { node: to, processor }, limits, budget)
    };
    begins.into_iter().map(|begin| problem.processors().map(|end| of(begin, end)).collect()).collect()
}

/// The part after one node up to another, each on its processor.
fn solution(
    problem: &MappingProblem,
    from: Option<FixedNode>,
    to: FixedNode,
    limits: &MapperLimits<'_>,
    budget: &Budget<'_>,
) -> Result<Option<Solution>, MappingError> {
    let is_possible = |fixed: FixedNode| problem.time(fixed.node, fixed.processor).is_some();
    if !from.is_none_or(is_possible) || !is_possible(to) {
        return Ok(None);
    }

    let part = part(problem, from, to)?;
    let mut bounds = PathBounds::new(&part);
    let is_too_much = part.len() > MOST_NODES || budget.left() == 0;
    let (incumbent, bound) = if is_too_much {
        (starts::best_of(starts::LISTS, &part, limits).ok_or(MappingError::NoMapping)?, bounds.critical)
    } else {
        quick::first_part(&part, &mut bounds, limits, budget)?
    };

    let first = from.map_or(TaskId::new(0), |fixed| fixed.node);
    // The first node belongs to the part before.
    let nodes_of_problem = |nodes: &Vec<TaskId>| {
        let nodes = nodes.iter().filter(|node| from.is_none() || node.index() > 0);
        nodes.map(|node| TaskId::new(node.index() + first.index())).collect()
    };
    let order = incumbent.order.iter().map(nodes_of_problem).collect();
    Ok(Some(Solution { bound, makespan: incumbent.makespan, order }))
}

/// The nodes from one to another as a problem of its own. A node that it begins with is done at the beginning.
fn part(problem: &MappingProblem, from: Option<FixedNode>, to: FixedNode) -> Result<MappingProblem, MappingError> {
    let first = from.map_or(TaskId::new(0), |fixed| fixed.node);
    let last = to.node;
    let nodes = || (first.index()..=last.index()).map(TaskId::new);
    let times = |node: TaskId| -> Vec<Option<Nanoseconds>> {
        let time = |processor: ProcessorId| match from {
            Some(from) if node == from.node => (processor == from.processor).then_some(Nanoseconds::ZERO),
            _ => problem.time(node, processor).filter(|_| node != last || processor == to.processor),
        };
        problem.processors().map(time).collect()
    };

    let names = nodes().map(|node| problem.name(node).to_owned()).collect();
    let inside = problem.edges().iter().filter(|edge| edge.from >= first && edge.to <= last);
    let edges: Vec<Edge> = inside.map(|edge| edge.clone().renumbered_from(first)).collect();
    let mut part = MappingProblem::new(names, nodes().map(times).collect(), edges)?;
    if from.is_none() {
        for node in nodes() {
            problem
                .processors()
                .for_each(|processor| part.set_release(node, processor, problem.release(node, processor)));
        }
    }
    Ok(part)
}
