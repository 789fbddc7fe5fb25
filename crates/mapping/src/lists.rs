//! What list schedulers share: ranks, a schedule with gaps that nodes are inserted into, and the evaluation of an order.

use millstream_cost::Nanoseconds;

use crate::bounds::quick;
use crate::mapping::{Mapping, Outcome, placement_of};
use crate::{Edge, MappingError, MappingProblem, ProcessorId, TaskId};

/// Lengths of the longest paths from and to nodes, with mean times and transfers.
pub(crate) struct Ranks {
    pub(crate) up: Vec<f64>,
    pub(crate) down: Vec<f64>,
}

impl Ranks {
    pub(crate) fn new(problem: &MappingProblem) -> Self {
        let count = problem.len();
        let mean = |node: TaskId| {
            let times: Vec<u64> =
                problem.supporting(node).filter_map(|processor| problem.time(node, processor)).collect();
            times.iter().sum::<u64>() as f64 / times.len().max(1) as f64
        };
        let processors = problem.processor_count();
        // Over pairs of distinct processors, as published; staying where one is takes nothing and does not count.
        let transfer = |edge: &Edge| {
            let all = edge.pairs().map(|(from, to)| edge.transfer(from, to));
            all.sum::<u64>() as f64 / (processors * processors.saturating_sub(1)).max(1) as f64
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
    /// The processor and the end of each node that is placed.
    placement: Vec<Option<(ProcessorId, u64)>>,
    /// Per processor, (start, end, node) in the order of time.
    tracks: Vec<Vec<(u64, u64, TaskId)>>,
}

impl<'a> GapSchedule<'a> {
    pub(crate) fn new(problem: &'a MappingProblem) -> Self {
        Self { problem, placement: vec![None; problem.len()], tracks: vec![Vec::new(); problem.processor_count()] }
    }

    /// Places a node where it ends first, in the first gap that is long enough.
    pub(crate) fn place_best(&mut self, node: TaskId, processors: impl Iterator<Item = ProcessorId>) {
        let candidates = processors.filter_map(|processor| {
            let time = self.problem.time(node, processor)?;
            let (start, place) = self.slot(node, processor, time);
            Some((start + time, processor, start, place))
        });
        if let Some((end, processor, start, place)) = candidates.min() {
            self.tracks[processor.index()].insert(place, (start, end, node));
            self.placement[node.index()] = Some((processor, end));
        }
    }

    /// From when on a node of this time can run on a processor, and its place among the nodes there.
    fn slot(&self, node: TaskId, processor: ProcessorId, time: u64) -> (u64, usize) {
        let mut start = self.problem.release(node, processor);
        for edge in self.problem.incoming(node) {
            if let Some((maker, end)) = self.placement[edge.from.index()] {
                start = start.max(end + edge.transfer(maker, processor));
            }
        }
        for (place, &(begin, end, _)) in self.tracks[processor.index()].iter().enumerate() {
            // At the same moment, what takes no time goes after what it may depend on.
            if start < begin && start + time <= begin {
                return (start, place);
            }
            start = start.max(end);
        }
        (start, self.tracks[processor.index()].len())
    }

    /// The mapping, evaluated like every other.
    pub(crate) fn finish(self) -> Result<Mapping, MappingError> {
        let order: Vec<Vec<TaskId>> =
            self.tracks.iter().map(|track| track.iter().map(|&(_, _, node)| node).collect()).collect();
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
    let lower_bound = Nanoseconds(quick(problem));
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
        let is_near =
            |found: &[f64], known: &[f64]| found.iter().zip(known).all(|(one, other)| (one - other).abs() < 1e-3);
        assert!(is_near(&ranks.up, &up), "{:?}", ranks.up);
        assert!(is_near(&ranks.down, &down), "{:?}", ranks.down);
    }
}
