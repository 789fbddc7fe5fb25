//! List scheduling: nodes by priority, each on the processor where it ends first (Topcuoglu et al., TPDS 2002).

use std::cmp::Reverse;

use millstream_cost::Nanoseconds;

use crate::bounds::quick;
use crate::mapping::{Limits, Mapper, Mapping, Outcome, placement_of};
use crate::{MappingError, MappingProblem};

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
        let mut nodes: Vec<usize> = (0..problem.len()).collect();
        nodes.sort_by(|&left, &right| ranks.up[right].total_cmp(&ranks.up[left]).then(left.cmp(&right)));
        let mut plan = Plan::new(problem);
        for node in nodes {
            plan.place_best(node, problem.supporting(node));
        }
        Ok(plan.finish())
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
        let is_critical = |node: usize| priority[node] >= longest * (1.0 - 1e-9);
        // The processor that runs the whole critical path fastest, if one can run all of it.
        let path_time = |processor: usize| -> Option<u64> {
            (0..problem.len()).filter(|&node| is_critical(node)).map(|node| problem.time(node, processor)).sum()
        };
        let timed = (0..problem.processors()).filter_map(|processor| Some((path_time(processor)?, processor)));
        let chosen = timed.min().map(|(_, processor)| processor);
        let mut plan = Plan::new(problem);
        let mut waiting: Vec<usize> = (0..problem.len()).map(|node| problem.incoming(node).len()).collect();
        let mut ready: Vec<usize> = (0..problem.len()).filter(|&node| waiting[node] == 0).collect();
        while let Some(place) = (0..ready.len()).max_by(|&left, &right| {
            priority[ready[left]].total_cmp(&priority[ready[right]]).then(ready[right].cmp(&ready[left]))
        }) {
            let node = ready.swap_remove(place);
            match chosen.filter(|_| is_critical(node)) {
                Some(processor) => plan.place_best(node, std::iter::once(processor)),
                None => plan.place_best(node, problem.supporting(node)),
            }
            for edge in problem.outgoing(node) {
                waiting[edge.to] -= 1;
                if waiting[edge.to] == 0 {
                    ready.push(edge.to);
                }
            }
        }
        Ok(plan.finish())
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
        let mean = |node: usize| {
            let times: Vec<u64> =
                problem.supporting(node).filter_map(|processor| problem.time(node, processor)).collect();
            times.iter().sum::<u64>() as f64 / times.len().max(1) as f64
        };
        let processors = problem.processors();
        // Over pairs of distinct processors, as published; staying where one is takes nothing and does not count.
        let transfer = |edge: &crate::Edge| {
            let pairs = (0..processors).flat_map(|from| (0..processors).map(move |to| edge.transfer(from, to)));
            pairs.sum::<u64>() as f64 / (processors * processors.saturating_sub(1)).max(1) as f64
        };
        let (mut up, mut down) = (vec![0.0; count], vec![0.0; count]);
        for node in (0..count).rev() {
            let after = problem.outgoing(node).map(|edge| transfer(edge) + up[edge.to]).fold(0.0, f64::max);
            up[node] = mean(node) + after;
        }
        for node in 0..count {
            down[node] = problem
                .incoming(node)
                .map(|edge| down[edge.from] + mean(edge.from) + transfer(edge))
                .fold(0.0, f64::max);
        }
        Self { up, down }
    }
}

/// A mapping that grows node by node; predecessors are placed before their successors.
pub(crate) struct Plan<'a> {
    problem: &'a MappingProblem,
    placement: Vec<usize>,
    ends: Vec<u64>,
    /// Per processor, (start, end, node) in the order of time.
    tracks: Vec<Vec<(u64, u64, usize)>>,
}

impl<'a> Plan<'a> {
    pub(crate) fn new(problem: &'a MappingProblem) -> Self {
        Self {
            problem,
            placement: vec![usize::MAX; problem.len()],
            ends: vec![0; problem.len()],
            tracks: vec![Vec::new(); problem.processors()],
        }
    }

    /// Places a node where it ends first, in the first gap that is long enough.
    pub(crate) fn place_best(&mut self, node: usize, processors: impl Iterator<Item = usize>) {
        let candidates = processors.filter_map(|processor| {
            let time = self.problem.time(node, processor)?;
            let (start, place) = self.slot(node, processor, time);
            Some((start + time, processor, start, place))
        });
        if let Some((end, processor, start, place)) = candidates.min() {
            self.tracks[processor].insert(place, (start, end, node));
            self.placement[node] = processor;
            self.ends[node] = end;
        }
    }

    fn slot(&self, node: usize, processor: usize, time: u64) -> (u64, usize) {
        let mut start = self.problem.release(node, processor);
        for edge in self.problem.incoming(node) {
            start = start.max(self.ends[edge.from] + edge.transfer(self.placement[edge.from], processor));
        }
        for (place, &(begin, end, _)) in self.tracks[processor].iter().enumerate() {
            // At the same moment, what takes no time goes after what it may depend on.
            if start < begin && start + time <= begin {
                return (start, place);
            }
            start = start.max(end);
        }
        (start, self.tracks[processor].len())
    }

    /// The mapping, evaluated like every other.
    pub(crate) fn finish(self) -> Mapping {
        let order: Vec<Vec<usize>> =
            self.tracks.iter().map(|track| track.iter().map(|&(_, _, node)| node).collect()).collect();
        heuristic(self.problem, order)
    }
}

/// A mapping of given orders, bounded quickly.
pub(crate) fn heuristic(problem: &MappingProblem, order: Vec<Vec<usize>>) -> Mapping {
    let placement = placement_of(problem.len(), &order);
    let makespan = problem.makespan(&order).unwrap_or(Nanoseconds(u64::MAX));
    let lower_bound = Nanoseconds(quick(problem));
    let outcome = if makespan <= lower_bound { Outcome::Optimal } else { Outcome::Heuristic };
    Mapping { placement, order, makespan, lower_bound, outcome, steps: 0 }
}

/// Everything on the one processor that is fastest for it.
#[derive(Debug, Clone, Copy, Default)]
pub struct SingleProcessor;

impl Mapper for SingleProcessor {
    fn name(&self) -> &'static str {
        "single processor"
    }

    fn map(&self, problem: &MappingProblem, _: &Limits<'_>) -> Result<Mapping, MappingError> {
        let alone = |processor: usize| {
            let mut order = vec![Vec::new(); problem.processors()];
            order[processor] = (0..problem.len()).collect();
            problem.makespan(&order).map(|makespan| (makespan, Reverse(processor), order))
        };
        let best =
            (0..problem.processors()).filter_map(alone).min_by_key(|(makespan, processor, _)| (*makespan, *processor));
        match best {
            Some((_, _, order)) => Ok(heuristic(problem, order)),
            None if problem.is_empty() => Ok(heuristic(problem, vec![Vec::new(); problem.processors()])),
            None => {
                let misfit = (0..problem.len()).find(|&node| problem.supporting(node).count() < problem.processors());
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
        let (count, processors) = (problem.len(), problem.processors());
        // Cost and processor of the node before, row per node.
        let mut best: Vec<Option<(u64, usize)>> = vec![None; count * processors];
        for node in 0..count {
            for processor in problem.supporting(node) {
                let time = problem.time(node, processor).unwrap_or(0);
                let switch = |before: usize| {
                    problem.incoming(node).map(|edge| edge.transfer(before, processor)).max().unwrap_or(0)
                };
                best[node * processors + processor] = match node.checked_sub(1) {
                    None => Some((problem.release(node, processor) + time, processor)),
                    Some(previous) => problem
                        .supporting(previous)
                        .filter_map(|before| {
                            Some((best[previous * processors + before]?.0 + switch(before) + time, before))
                        })
                        .min(),
                };
            }
        }
        let mut order = vec![Vec::new(); processors];
        let ends = (0..processors).filter_map(|processor| {
            let last = count.checked_sub(1)?;
            Some((best[last * processors + processor]?.0, processor))
        });
        let end = ends.min();
        let mut processor = end.map_or(0, |(_, processor)| processor);
        for node in (0..count).rev() {
            order[processor].push(node);
            processor = best[node * processors + processor].map_or(0, |(_, before)| before);
        }
        order.iter_mut().for_each(|nodes| nodes.reverse());
        Ok(heuristic(problem, order))
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
