//! Subgraphs that run one after the other, each solved between all pairs of processors, and the shortest path through
//! them. Teams in `millstream-pipeline` (`teams/passages.rs`) have the like for ranges of a network, where bounds decide
//! which subgraphs are solved at all and operators may be divided.

use std::collections::HashMap;

use millstream_cost::Nanoseconds;
use millstream_partition::SubgraphId;
use millstream_schedule::execution::ProcessorId;

use crate::error::MappingError;
use crate::mapper::Mapper;
use crate::mapper::limits::MapperLimits;
use crate::mapper::mapping::Mapping;
use crate::mapper::outcome::Outcome;
use crate::problem::{MappingProblem, ProblemKey};
use crate::side_by_side::on_threads;

/// A subgraph between two processors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Pair {
    subgraph: SubgraphId,
    /// Where the subgraph before it ended; `None` if there is none.
    source: Option<ProcessorId>,
    /// Where it ends.
    pub(crate) end: ProcessorId,
}

/// One pair for each subgraph, where each begins on the processor on which the one before it ends.
#[derive(Debug, Clone, Default)]
pub(crate) struct Path {
    pub(crate) pairs: Vec<Pair>,
    /// The sum of what they cost.
    pub(crate) cost: Nanoseconds,
}

/// The mapping problems of all pairs. Pairs whose problems are the same share one.
pub(crate) struct Composition {
    subgraph_count: usize,
    processor_count: usize,
    problems: Vec<PairProblem>,
    /// Places of problems.
    by_key: HashMap<ProblemKey, usize>,
    /// The place of each pair's problem, where there is one.
    by_pair: HashMap<Pair, usize>,
}

/// A problem, and what is known of it.
struct PairProblem {
    problem: MappingProblem,
    mapping: Option<Mapping>,
    /// Whether it is not solved again.
    is_final: bool,
}

impl Composition {
    /// Without problems.
    pub(crate) fn new(subgraph_count: usize, processor_count: usize) -> Self {
        let (problems, by_key, by_pair) = (Vec::new(), HashMap::new(), HashMap::new());
        Self { subgraph_count, processor_count, problems, by_key, by_pair }
    }

    /// Adds a subgraph's problem after a processor on which the one before it ends, once for each processor on which
    /// its own last node can be.
    pub(crate) fn add(&mut self, subgraph: SubgraphId, source: Option<ProcessorId>, problem: &MappingProblem) {
        let Some(sink) = problem.last_node() else { return };
        for end in problem.processors() {
            let mut fixed = problem.clone();
            if fixed.fix(sink, end).is_err() {
                continue;
            }
            let index = *self.by_key.entry(fixed.key()).or_insert_with(|| {
                self.problems.push(PairProblem { problem: fixed, mapping: None, is_final: false });
                self.problems.len() - 1
            });
            self.by_pair.insert(Pair { subgraph, source, end }, index);
        }
    }

    /// How many different problems there are.
    pub(crate) fn problem_count(&self) -> usize {
        self.problems.len()
    }

    /// Solves all problems.
    pub(crate) fn solve_all(
        &mut self,
        mapper: &(dyn Mapper + Sync),
        limits: &MapperLimits<'_>,
        threads: usize,
    ) -> Result<(), MappingError> {
        let all: Vec<usize> = (0..self.problems.len()).collect();
        self.solve((mapper, Pass::First), &all, limits, threads)
    }

    /// Solves some problems, each by whichever thread is free.
    pub(crate) fn solve(
        &mut self,
        (mapper, pass): (&(dyn Mapper + Sync), Pass),
        wanted: &[usize],
        limits: &MapperLimits<'_>,
        threads: usize,
    ) -> Result<(), MappingError> {
        let problems = &self.problems;
        let map = |piece: usize| mapper.map(&problems[wanted[piece]].problem, limits);
        let results = on_threads(threads, wanted.len(), map);
        for (&index, result) in wanted.iter().zip(results) {
            self.problems[index].learn(result?, pass);
        }
        Ok(())
    }

    /// The path with the least sum of what `cost` says of its pairs' mappings.
    pub(crate) fn shortest(&self, cost: impl Fn(&Mapping) -> Nanoseconds) -> Path {
        // So far, per processor on which the last subgraph ended.
        let mut paths: Vec<Option<Path>> = vec![None; self.processor_count];
        let processors = ProcessorId::all(self.processor_count);
        for subgraph in SubgraphId::all(self.subgraph_count) {
            // Where the subgraph before may have ended.
            let sources: Vec<(Option<ProcessorId>, Option<Path>)> = match subgraph.before() {
                None => vec![(None, Some(Path::default()))],
                Some(_) => processors.clone().map(Some).zip(paths).collect(),
            };
            let extended = |end: ProcessorId| {
                let paths = sources.iter().filter_map(|(source, before)| {
                    let pair = Pair { subgraph, source: *source, end };
                    let mapping = self.solved(pair)?;
                    let before = before.as_ref()?;
                    Some((before.cost + cost(mapping), before, pair))
                });
                let (cost, before, pair) = paths.min_by_key(|(cost, ..)| *cost)?;
                Some(Path { pairs: [before.pairs.as_slice(), &[pair]].concat(), cost })
            };
            paths = processors.clone().map(extended).collect();
        }
        paths.into_iter().flatten().min_by_key(|path| path.cost).unwrap_or_default()
    }

    /// Of the problems of some pairs, those that are not settled, the widest gaps first, at most so many.
    pub(crate) fn unsolved(&self, pairs: &[Pair], most: usize) -> Vec<usize> {
        let mut open: Vec<usize> = pairs.iter().filter_map(|pair| self.by_pair.get(pair).copied()).collect();
        open.retain(|&index| !self.problems[index].is_final);
        open.sort_unstable();
        open.dedup();
        open.sort_by_key(|&index| std::cmp::Reverse(self.problems[index].gap()));
        open.truncate(most.max(1));
        open
    }

    /// The mapping of a pair; an empty one if there is none.
    pub(crate) fn mapping(&self, pair: Pair) -> Mapping {
        self.solved(pair).cloned().unwrap_or_else(|| Mapping {
            placement: Vec::new(),
            order: Vec::new(),
            makespan: Nanoseconds::ZERO,
            lower_bound: Nanoseconds::ZERO,
            outcome: Outcome::Optimal,
            steps: 0,
        })
    }

    fn solved(&self, pair: Pair) -> Option<&Mapping> {
        self.problems[*self.by_pair.get(&pair)?].mapping.as_ref()
    }
}

/// Whether a problem is solved again if the first mapping leaves a gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pass {
    /// By another mapper, if it matters.
    First,
    /// No more: what is found is final.
    Last,
}

impl PairProblem {
    /// Keeps the shorter of a new mapping and the one that it had, with the higher of their bounds.
    fn learn(&mut self, mut mapping: Mapping, pass: Pass) {
        if let Some(old) = self.mapping.take() {
            let lower_bound = mapping.lower_bound.max(old.lower_bound);
            if old.makespan < mapping.makespan {
                mapping = old;
            }
            mapping.lower_bound = lower_bound;
        }
        self.is_final = pass == Pass::Last || mapping.makespan == mapping.lower_bound;
        self.mapping = Some(mapping);
    }

    /// How far its mapping may be from the best.
    fn gap(&self) -> Nanoseconds {
        self.mapping.as_ref().map_or(Nanoseconds::ZERO, |mapping| mapping.makespan - mapping.lower_bound)
    }
}
