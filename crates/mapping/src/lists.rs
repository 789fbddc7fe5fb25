//! List scheduling: nodes by priority, each on the processor where it ends first (Topcuoglu et al., TPDS 2002).

use std::cmp::Reverse;

use millstream_cost::Nanoseconds;

use crate::bounds::quick;
use crate::exact::nothing_found;
use crate::mapping::{Limits, Mapper, Mapping, Outcome, placement_of};
use crate::{Edge, MappingError, MappingProblem, ProcessorId, TaskId};

/// HEFT: by upward rank, with insertion into gaps.
#[derive(Debug, Clone, Copy, Default)]
pub struct Heft;

/// CPOP: by upward plus downward rank, the critical path on one processor.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cpop;

impl Mapper for Heft {
    fn name(&self) -> &'static str {
        "HEFT"
    }

    fn map(&self, problem: &MappingProblem, _: &Limits<'_>) -> Result<Mapping, MappingError> {
        let ranks = Ranks::new(problem);
        let mut nodes: Vec<TaskId> = problem.nodes().collect();
        let up = |node: &TaskId| ranks.up[node.index()];
        nodes.sort_by(|left, right| up(right).total_cmp(&up(left)).then(left.cmp(right)));
        let mut plan = Plan::new(problem);
        for node in nodes {
            plan.place_best(node, problem.supporting(node));
        }
        plan.finish()
    }
}

impl Mapper for Cpop {
    fn name(&self) -> &'static str {
        "CPOP"
    }

    fn map(&self, problem: &MappingProblem, _: &Limits<'_>) -> Result<Mapping, MappingError> {
        let ranks = Ranks::new(problem);
        let priority: Vec<f64> = ranks.up.iter().zip(&ranks.down).map(|(up, down)| up + down).collect();
        let longest = priority.iter().copied().fold(0.0, f64::max);
        let is_critical = |node: TaskId| priority[node.index()] >= longest * (1.0 - 1e-9);
        // The processor that runs the whole critical path fastest, if one can run all of it.
        let path_time = |processor: ProcessorId| -> Option<u64> {
            problem.nodes().filter(|&node| is_critical(node)).map(|node| problem.time(node, processor)).sum()
        };
        let timed = problem.processors().filter_map(|processor| Some((path_time(processor)?, processor)));
        let chosen = timed.min().map(|(_, processor)| processor);
        let mut plan = Plan::new(problem);
        let mut waiting: Vec<usize> = problem.nodes().map(|node| problem.incoming(node).len()).collect();
        let mut ready: Vec<TaskId> = problem.nodes().filter(|node| waiting[node.index()] == 0).collect();
        while let Some(place) = (0..ready.len()).max_by(|&left, &right| {
            let (left, right) = (ready[left], ready[right]);
            priority[left.index()].total_cmp(&priority[right.index()]).then(right.cmp(&left))
        }) {
            let node = ready.swap_remove(place);
            match chosen.filter(|_| is_critical(node)) {
                Some(processor) => plan.place_best(node, std::iter::once(processor)),
                None => plan.place_best(node, problem.supporting(node)),
            }
            for edge in problem.outgoing(node) {
                waiting[edge.to.index()] -= 1;
                if waiting[edge.to.index()] == 0 {
                    ready.push(edge.to);
                }
            }
        }
        plan.finish()
    }
}

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
pub(crate) struct Plan<'a> {
    problem: &'a MappingProblem,
    /// The processor and the end of each node that is placed.
    placement: Vec<Option<(ProcessorId, u64)>>,
    /// Per processor, (start, end, node) in the order of time.
    tracks: Vec<Vec<(u64, u64, TaskId)>>,
}

impl<'a> Plan<'a> {
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
    let makespan = problem.makespan(&order).ok_or_else(nothing_found)?;
    let lower_bound = Nanoseconds(quick(problem));
    let outcome = if makespan <= lower_bound { Outcome::Optimal } else { Outcome::Heuristic };
    Ok(Mapping { placement, order, makespan, lower_bound, outcome, steps: 0 })
}

/// Everything on the one processor that is fastest for it.
#[derive(Debug, Clone, Copy, Default)]
pub struct SingleProcessor;

impl Mapper for SingleProcessor {
    fn name(&self) -> &'static str {
        "single processor"
    }

    fn map(&self, problem: &MappingProblem, _: &Limits<'_>) -> Result<Mapping, MappingError> {
        let alone = |processor: ProcessorId| {
            let mut order = vec![Vec::new(); problem.processor_count()];
            order[processor.index()] = problem.nodes().collect();
            problem.makespan(&order).map(|makespan| (makespan, Reverse(processor), order))
        };
        let best =
            problem.processors().filter_map(alone).min_by_key(|(makespan, processor, _)| (*makespan, *processor));
        match best {
            Some((_, _, order)) => heuristic(problem, order),
            None if problem.is_empty() => heuristic(problem, vec![Vec::new(); problem.processor_count()]),
            None => {
                let misfit = problem.nodes().find(|&node| problem.supporting(node).count() < problem.processor_count());
                Err(MappingError::Unsupported {
                    operator: misfit.map_or(String::new(), |node| problem.name(node).to_owned()),
                })
            }
        }
    }
}

/// One node after the other, each on the processor that suits it, switching where that pays for the transfer: a dynamic
/// program over the nodes in order whose state is the processor of the node before.
#[derive(Debug, Clone, Copy, Default)]
pub struct LayerSwitched;

impl Mapper for LayerSwitched {
    fn name(&self) -> &'static str {
        "layer-switched"
    }

    fn map(&self, problem: &MappingProblem, _: &Limits<'_>) -> Result<Mapping, MappingError> {
        let processors = problem.processor_count();
        // Per node and processor, the cost up to there and the processor of the node before.
        let mut best: Vec<Vec<Option<(u64, ProcessorId)>>> = Vec::with_capacity(problem.len());
        let mut previous: Option<TaskId> = None;
        for node in problem.nodes() {
            let mut row = vec![None; processors];
            for processor in problem.supporting(node) {
                let time = problem.time(node, processor).unwrap_or(0);
                let switch = |before: ProcessorId| {
                    problem.incoming(node).map(|edge| edge.transfer(before, processor)).max().unwrap_or(0)
                };
                row[processor.index()] = match previous.zip(best.last()) {
                    None => Some((problem.release(node, processor) + time, processor)),
                    Some((previous, costs)) => problem
                        .supporting(previous)
                        .filter_map(|before| Some((costs[before.index()]?.0 + switch(before) + time, before)))
                        .min(),
                };
            }
            best.push(row);
            previous = Some(node);
        }
        let mut order = vec![Vec::new(); processors];
        let last = best.last().into_iter().flat_map(|costs| problem.processors().zip(costs));
        let end = last.filter_map(|(processor, cost)| Some((cost.as_ref()?.0, processor))).min();
        let mut processor = end.map(|(_, processor)| processor);
        for (node, costs) in problem.nodes().zip(&best).rev() {
            let Some(own) = processor else { break };
            order[own.index()].push(node);
            processor = costs[own.index()].map(|(_, before)| before);
        }
        order.iter_mut().for_each(|nodes| nodes.reverse());
        heuristic(problem, order)
    }
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
