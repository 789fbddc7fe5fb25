//! All subgraphs of a network, composed over the processors on which they meet.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use millstream_cost::{CostTable, Nanoseconds, ProcessorIndex};
use millstream_graph::{Graph, OperatorId};
use millstream_partition::Subgraph;

use crate::mapping::{Budget, Mapper, MapperLimits, Mapping, Outcome};
use crate::quick::Quick;
use crate::{ExactMapper, MappingError, MappingProblem, ProcessorId};

/// One subgraph of a mapped network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubgraphMapping {
    /// The mapping of its nodes; starts count from the end of the subgraph before it.
    pub mapping: Mapping,
    /// The processor on which it ends.
    pub end: ProcessorId,
}

/// A network, subgraph by subgraph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkMapping {
    /// The subgraphs, in the order in which they run.
    pub subgraphs: Vec<SubgraphMapping>,
    /// Time of a frame: the sum over the subgraphs.
    pub makespan: Nanoseconds,
    /// No mapping that runs the subgraphs one after the other is shorter.
    pub lower_bound: Nanoseconds,
    /// Why the search stopped.
    pub outcome: Outcome,
    /// Different problems that were met: subgraphs that are the same are solved once.
    pub problem_count: usize,
}

impl NetworkMapping {
    /// How much longer this may be than the best, relative to the lower bound.
    pub fn gap(&self) -> f64 {
        self.makespan.0.saturating_sub(self.lower_bound.0) as f64 / self.lower_bound.0.max(1) as f64
    }
}

/// Maps the subgraphs of a network on processors of a table; the same class may be named several times, once for each
/// processor. A [`ProcessorId`] is a place in `processors`.
///
/// A subgraph reads what the sink before it made, so it is solved for every pair of processors on which the sink before it
/// and its own sink may be, and a dynamic program chooses the pairs. Most problems are settled in a moment; of the others,
/// those are solved fully on which the bound of the whole depends, until it meets the makespan, the gap is small enough, or
/// nothing is left to solve. Problems are worked on by `threads` threads, each problem within the limit of steps; their number does not
/// change the result.
///
/// # Errors
/// [`MappingError::Unsupported`] if an operator can run on none of the processors, [`MappingError::Solver`] if a solver fails.
pub fn map_network(
    graph: &Graph,
    subgraphs: &[Subgraph],
    table: &CostTable,
    processors: &[ProcessorIndex],
    limits: &MapperLimits<'_>,
    threads: usize,
) -> Result<NetworkMapping, MappingError> {
    let budget = Budget::start(limits);
    let mut composition = Composition::new(graph, subgraphs, table, processors)?;
    composition.solve(&Quick, &(0..composition.problems.len()).collect::<Vec<_>>(), limits, threads)?;
    loop {
        let (makespan, _) = composition.best(|mapping| mapping.makespan.0);
        let (bound, loose) = composition.best(|mapping| mapping.lower_bound.0);
        let exhausted = || composition.unsolved(&loose, threads).is_empty();
        let reason = budget.reason(makespan, bound).or_else(|| exhausted().then_some(Outcome::StepLimit));
        if let Some(outcome) = reason {
            return Ok(composition.finish(outcome));
        }
        let next = composition.unsolved(&loose, threads);
        composition.solve(&ExactMapper, &next, limits, threads)?;
    }
}

/// As [`map_network`], with one mapper for all problems, whatever gap it leaves: what a network would take if its subgraphs
/// were mapped that way.
///
/// # Errors
/// As [`map_network`], and what the mapper returns.
pub fn compose(
    graph: &Graph,
    subgraphs: &[Subgraph],
    table: &CostTable,
    processors: &[ProcessorIndex],
    mapper: &(dyn Mapper + Sync),
    limits: &MapperLimits<'_>,
    threads: usize,
) -> Result<NetworkMapping, MappingError> {
    let mut composition = Composition::new(graph, subgraphs, table, processors)?;
    composition.solve(mapper, &(0..composition.problems.len()).collect::<Vec<_>>(), limits, threads)?;
    Ok(composition.finish(Outcome::Heuristic))
}

/// The mapping problem of a subgraph. If it follows another one, `before` names the operators of that one's sink and the
/// processor on which they ran: what the subgraph reads of theirs has to be transferred from there.
///
/// # Errors
/// [`MappingError::Unsupported`] if an operator can run on none of the processors.
pub fn entered_problem(
    graph: &Graph,
    subgraph: &Subgraph,
    table: &CostTable,
    processors: &[ProcessorIndex],
    before: Option<(&[OperatorId], ProcessorId)>,
) -> Result<MappingProblem, MappingError> {
    let mut problem = MappingProblem::of_subgraph(graph, subgraph, table, processors)?;
    let Some((sink, source)) = before else { return Ok(problem) };
    for (node, operators) in problem.nodes().zip(&subgraph.nodes) {
        for (target, &class) in ProcessorId::all(processors.len()).zip(processors) {
            let arrival = |bytes: u64| match target == source {
                true => 0,
                false => table.transfer(processors[source.index()], class, bytes).0,
            };
            let read = operators
                .iter()
                .flat_map(|&id| &graph.operator(id).inputs)
                .filter(|&&value| graph.producer(value).is_some_and(|producer| sink.contains(&producer)));
            let latest = read.map(|&value| arrival(graph.value(value).bytes().unwrap_or(0))).max();
            problem.set_release(node, target, latest.unwrap_or(0));
        }
    }
    Ok(problem)
}

/// A subgraph between two processors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Pair {
    subgraph: usize,
    /// Where the subgraph before it ended; `None` if there is none.
    source: Option<ProcessorId>,
    /// Where it ends.
    end: ProcessorId,
}

/// A sum of what pairs cost, and these pairs.
type Path = (u64, Vec<Pair>);

struct Composition {
    subgraph_count: usize,
    processor_count: usize,
    problems: Vec<MappingProblem>,
    mappings: Vec<Option<Mapping>>,
    is_final: Vec<bool>,
    /// The problem of each pair, where there is one.
    pairs: HashMap<Pair, usize>,
}

impl Composition {
    fn new(
        graph: &Graph,
        subgraphs: &[Subgraph],
        table: &CostTable,
        processors: &[ProcessorIndex],
    ) -> Result<Self, MappingError> {
        let mut composition = Self {
            subgraph_count: subgraphs.len(),
            processor_count: processors.len(),
            problems: Vec::new(),
            mappings: Vec::new(),
            is_final: Vec::new(),
            pairs: HashMap::new(),
        };

        let mut known = HashMap::new();
        for (index, subgraph) in subgraphs.iter().enumerate() {
            let before = index.checked_sub(1).and_then(|before| subgraphs[before].nodes.last());
            let sources: Vec<Option<ProcessorId>> = match before {
                Some(_) => ProcessorId::all(processors.len()).map(Some).collect(),
                None => vec![None],
            };
            for source in sources {
                let before = before.map(Vec::as_slice).zip(source);
                let released = entered_problem(graph, subgraph, table, processors, before)?;
                let Some(sink) = released.last_node() else { continue };
                for end in released.processors() {
                    let mut fixed = released.clone();
                    if fixed.fix(sink, end).is_err() {
                        continue;
                    }
                    let problem = *known.entry(fixed.key()).or_insert_with(|| {
                        composition.problems.push(fixed);
                        composition.mappings.push(None);
                        composition.is_final.push(false);
                        composition.problems.len() - 1
                    });
                    composition.pairs.insert(Pair { subgraph: index, source, end }, problem);
                }
            }
        }

        Ok(composition)
    }

    /// Solves some problems, each by whichever thread is free.
    fn solve(
        &mut self,
        mapper: &(dyn Mapper + Sync),
        wanted: &[usize],
        limits: &MapperLimits<'_>,
        threads: usize,
    ) -> Result<(), MappingError> {
        let next = AtomicUsize::new(0);
        let results: Mutex<Vec<(usize, Result<Mapping, MappingError>)>> = Mutex::new(Vec::new());
        let problems = &self.problems;
        let work = || {
            while let Some(&problem) = wanted.get(next.fetch_add(1, Ordering::Relaxed)) {
                let result = mapper.map(&problems[problem], limits);
                results.lock().unwrap_or_else(PoisonError::into_inner).push((problem, result));
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..threads.clamp(1, wanted.len().max(1)) {
                // What the system starts no thread for, the others do.
                if std::thread::Builder::new().spawn_scoped(scope, work).is_err() {
                    break;
                }
            }
            work();
        });

        let is_full = mapper.name() == ExactMapper.name();
        for (problem, result) in results.into_inner().unwrap_or_else(PoisonError::into_inner) {
            let mut mapping = result?;
            if let Some(old) = &self.mappings[problem] {
                let lower_bound = mapping.lower_bound.max(old.lower_bound);
                if old.makespan < mapping.makespan {
                    mapping = old.clone();
                }
                mapping.lower_bound = lower_bound;
            }
            self.is_final[problem] = is_full || mapping.makespan == mapping.lower_bound;
            self.mappings[problem] = Some(mapping);
        }

        Ok(())
    }

    /// The least sum over the subgraphs of what `cost` says of a pair, and the pairs that give it.
    fn best(&self, cost: impl Fn(&Mapping) -> u64) -> Path {
        // So far, per processor on which the last subgraph ended.
        let mut sums: Vec<Option<Path>> = vec![None; self.processor_count];
        let processors = ProcessorId::all(self.processor_count);
        for subgraph in 0..self.subgraph_count {
            // Where the subgraph before may have ended.
            let sources: Vec<(Option<ProcessorId>, Option<Path>)> = match subgraph {
                0 => vec![(None, Some((0, Vec::new())))],
                _ => processors.clone().map(Some).zip(sums).collect(),
            };
            let mut next: Vec<Option<Path>> = vec![None; self.processor_count];
            for (end, best) in processors.clone().zip(&mut next) {
                for (source, before) in &sources {
                    let pair = Pair { subgraph, source: *source, end };
                    let Some((sum, pairs)) = before else { continue };
                    let Some(mapping) = self.pairs.get(&pair).and_then(|&problem| self.mappings[problem].as_ref())
                    else {
                        continue;
                    };
                    let total = sum + cost(mapping);
                    if best.as_ref().is_none_or(|(least, _)| total < *least) {
                        *best = Some((total, [pairs.as_slice(), &[pair]].concat()));
                    }
                }
            }
            sums = next;
        }
        sums.into_iter().flatten().min_by_key(|(sum, _)| *sum).unwrap_or((0, Vec::new()))
    }

    /// Of the problems on a path, those that are not settled, the widest gaps first, at most so many.
    fn unsolved(&self, path: &[Pair], most: usize) -> Vec<usize> {
        let mut open: Vec<usize> = path.iter().filter_map(|pair| self.pairs.get(pair).copied()).collect();
        open.retain(|&problem| !self.is_final[problem]);
        open.sort_unstable();
        open.dedup();
        let gap = |problem: usize| {
            self.mappings[problem]
                .as_ref()
                .map_or(0, |mapping| mapping.makespan.0.saturating_sub(mapping.lower_bound.0))
        };
        open.sort_by_key(|&problem| std::cmp::Reverse(gap(problem)));
        open.truncate(most.max(1));
        open
    }

    fn finish(&self, outcome: Outcome) -> NetworkMapping {
        let (makespan, chosen) = self.best(|mapping| mapping.makespan.0);
        let (bound, _) = self.best(|mapping| mapping.lower_bound.0);
        NetworkMapping {
            subgraphs: chosen.iter().map(|&pair| self.part(pair)).collect(),
            makespan: Nanoseconds(makespan),
            lower_bound: Nanoseconds(bound),
            outcome: if makespan == bound { Outcome::Optimal } else { outcome },
            problem_count: self.problems.len(),
        }
    }

    fn part(&self, pair: Pair) -> SubgraphMapping {
        let mapping = self.pairs.get(&pair).and_then(|&problem| self.mappings[problem].clone());
        let empty = || Mapping {
            placement: Vec::new(),
            order: Vec::new(),
            makespan: Nanoseconds(0),
            lower_bound: Nanoseconds(0),
            outcome: Outcome::Optimal,
            steps: 0,
        };
        SubgraphMapping { mapping: mapping.unwrap_or_else(empty), end: pair.end }
    }
}
