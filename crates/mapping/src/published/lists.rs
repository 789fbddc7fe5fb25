//! What list schedulers share: ranks, a schedule with gaps that nodes are inserted into, and the evaluation of an
//! order.

use millstream_cost::Nanoseconds;
use millstream_schedule::execution::{ProcessorId, TaskId};

use crate::bounds::quick_bound;
use crate::error::MappingError;
use crate::mapper::mapping::{Mapping, placement_of};
use crate::mapper::outcome::Outcome;
use crate::problem::MappingProblem;
use crate::problem::edge::Edge;

/// Lengths of the longest paths from and to nodes, with mean times and transfers.
pub(crate) struct Ranks {
    /// From each node's start to the end of everything, in nanoseconds.
    pub(crate) up: Vec<f64>,
    /// From the beginning to each node's start, in nanoseconds.
    pub(crate) down: Vec<f64>,
}

impl Ranks {
    pub(crate) fn new(problem: &MappingProblem) -> Self {
        let count = problem.len();
        let mean = |node: TaskId| {
            let times: Vec<Nanoseconds> =
                problem.supporting(node).filter_map(|processor| problem.time(node, processor)).collect();
            times.iter().copied().sum::<Nanoseconds>().0 as f64 / times.len().max(1) as f64
        };
        let processors = problem.processor_count();
        // Over pairs of distinct processors, as published; staying where one is takes nothing and does not count.
        let transfer = |edge: &Edge| {
            let all = edge.pairs().map(|(from, to)| edge.transfer(from, to));
            all.sum::<Nanoseconds>().0 as f64 / (processors * processors.saturating_sub(1)).max(1) as f64
        };

        let (mut up, mut down) = (vec![0.0; count], vec![0.0; count]);
        for node in problem.nodes().rev() {
            let after = problem.outgoing(node).map(|edge| transfer(edge) + up[edge.to.index()]).fold(0.0, f64::max);
            up[node.index()] = mean(node) + after;
        }
        for node in problem.nodes() {
            down[node.index()] = problem
                .incoming(node)
                .map(|edge| down[edge.from.index()] + mean(edge.from) + transfer(edge))
                .fold(0.0, f64::max);
        }
        Self { up, down }
    }
}

/// A mapping that grows node by node; predecessors are placed before their successors.
pub(crate) struct GapSchedule<'a> {
    problem: &'a MappingProblem,
    /// Each node, if it is placed.
    placed: Vec<Option<PlacedNode>>,
    /// The nodes of each processor in the order of time.
    tracks: Vec<Vec<PlacedNode>>,
}

/// A node that is placed.
#[derive(Debug, Clone, Copy)]
struct PlacedNode {
    node: TaskId,
    processor: ProcessorId,
    start: Nanoseconds,
    end: Nanoseconds,
}

/// Room for a node among those of a processor.
struct Gap {
    /// From when on the node can run there.
    start: Nanoseconds,
    /// Its place among the processor's nodes.
    index: usize,
}

impl<'a> GapSchedule<'a> {
    pub(crate) fn new(problem: &'a MappingProblem) -> Self {
        Self { problem, placed: vec![None; problem.len()], tracks: vec![Vec::new(); problem.processor_count()] }
    }

    /// Places a node where it ends first, in the first gap that is long enough.
    pub(crate) fn place_best(&mut self, node: TaskId, processors: impl Iterator<Item = ProcessorId>) {
        let candidates = processors.filter_map(|processor| {
            let time = self.problem.time(node, processor)?;
            let Gap { start, index } = self.first_gap(node, processor, time);
            Some((PlacedNode { node, processor, start, end: start + time }, index))
        });
        if let Some((placed, index)) = candidates.min_by_key(|(placed, _)| (placed.end, placed.processor)) {
            self.tracks[placed.processor.index()].insert(index, placed);
            self.placed[node.index()] = Some(placed);
        }
    }

    /// The first gap on a processor in which a node can run that takes `time` there.
    fn first_gap(&self, node: TaskId, processor: ProcessorId, time: Nanoseconds) -> Gap {
        let mut start = self.problem.release(node, processor);
        for edge in self.problem.incoming(node) {
            if let Some(maker) = self.placed[edge.from.index()] {
                start = start.max(maker.end + edge.transfer(maker.processor, processor));
            }
        }

        let track = &self.tracks[processor.index()];
        for (index, next) in track.iter().enumerate() {
            // At the same moment, what takes no time goes after what it may depend on.
            if start < next.start && start + time <= next.start {
                return Gap { start, index };
            }
            start = start.max(next.end);
        }
        Gap { start, index: track.len() }
    }

    /// The mapping, evaluated like every other.
    pub(crate) fn finish(self) -> Result<Mapping, MappingError> {
        let nodes = |track: &Vec<PlacedNode>| track.iter().map(|placed| placed.node).collect();
        let order: Vec<Vec<TaskId>> = self.tracks.iter().map(nodes).collect();
        heuristic(self.problem, order)
    }
}

/// A mapping of given orders, bounded quickly.
///
/// # Errors
/// [`MappingError::NoMapping`] if nothing can run in these orders.
pub(crate) fn heuristic(problem: &MappingProblem, order: Vec<Vec<TaskId>>) -> Result<Mapping, MappingError> {
    let placement = placement_of(problem.len(), &order);
    let makespan = problem.makespan(&order).ok_or(MappingError::NoMapping)?;
    let lower_bound = quick_bound(problem);
    let outcome = if makespan <= lower_bound { Outcome::Optimal } else { Outcome::Heuristic };
    Ok(Mapping { placement, order, makespan, lower_bound, outcome, steps: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problems::published_example;

    /// The table of ranks that goes with the published example; the path 1 2 9 10 is critical, with 108 each.
    #[test]
    fn ranks_of_the_published_example() {
        let ranks = Ranks::new(&published_example());
        let up = [108.0, 77.0, 80.0, 80.0, 69.0, 63.333, 42.667, 35.667, 44.333, 14.667];
        let down = [0.0, 31.0, 25.0, 22.0, 24.0, 27.0, 62.333, 66.667, 63.667, 93.333];
        let is_near = |calculated: &[f64], published: &[f64]| {
            calculated.iter().zip(published).all(|(one, other)| (one - other).abs() < 1e-3)
        };
        assert!(is_near(&ranks.up, &up), "{:?}", ranks.up);
        assert!(is_near(&ranks.down, &down), "{:?}", ranks.down);
    }
}
