//! The mapping of a whole network: its subgraphs one after the other.

mod composition;

use millstream_cost::{ClassId, CostTable, Nanoseconds};
use millstream_graph::{Graph, OperatorId};
use millstream_partition::{Subgraph, SubgraphId};
use millstream_schedule::execution::ProcessorId;

use crate::bounded::BoundedMapper;
use crate::error::MappingError;
use crate::mapper::Mapper;
use crate::mapper::budget::Budget;
use crate::mapper::limits::MapperLimits;
use crate::mapper::mapping::Mapping;
use crate::mapper::outcome::Outcome;
use crate::network::composition::{Composition, Pair, Pass};
use crate::problem::MappingProblem;
use crate::quick::Quick;

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
        (self.makespan - self.lower_bound).0 as f64 / self.lower_bound.0.max(1) as f64
    }
}

/// Maps the subgraphs of a network on processors of a table; the same class may be named several times, once for each
/// processor. A [`ProcessorId`] is a place in `processors`.
///
/// A subgraph reads what the sink before it made, so it is solved for every pair of processors on which the sink before
/// it and its own sink may be, and a dynamic program chooses the pairs. Most problems are settled in a moment; of the
/// others, those are solved fully on which the bound of the whole depends, until it meets the makespan, the gap is
/// small enough, or nothing is left to solve. `threads` problems are worked on at a time, each within the limit of
/// steps, with a second thread for large ones ([`BoundedMapper`]); the number does not change the result.
///
/// # Errors
/// [`MappingError::Unsupported`] if an operator can run on none of the processors, [`MappingError::Solver`] if a solver
/// fails.
pub fn map_network(
    graph: &Graph,
    subgraphs: &[Subgraph],
    table: &CostTable,
    processors: &[ClassId],
    limits: &MapperLimits<'_>,
    threads: usize,
) -> Result<NetworkMapping, MappingError> {
    let budget = Budget::start(limits);
    let mut composition = composition(graph, subgraphs, table, processors)?;
    composition.solve_all(&Quick, limits, threads)?;
    loop {
        let makespan = composition.shortest(|mapping| mapping.makespan).cost;
        // The bound of the whole rises only if those of the subgraphs on the path do that gives it.
        let bound = composition.shortest(|mapping| mapping.lower_bound);
        let open = composition.unsolved(&bound.pairs, threads);

        let reason = budget.reason(makespan, bound.cost);
        if let Some(outcome) = reason.or_else(|| open.is_empty().then_some(Outcome::StepLimit)) {
            return Ok(network_mapping(&composition, outcome));
        }
        composition.solve((&BoundedMapper, Pass::Last), &open, limits, threads)?;
    }
}

/// As [`map_network`], with one mapper for all problems, whatever gap it leaves: what a network would take if its
/// subgraphs were mapped that way.
///
/// # Errors
/// As [`map_network`], and what the mapper returns.
pub fn compose(
    graph: &Graph,
    subgraphs: &[Subgraph],
    table: &CostTable,
    processors: &[ClassId],
    mapper: &(dyn Mapper + Sync),
    limits: &MapperLimits<'_>,
    threads: usize,
) -> Result<NetworkMapping, MappingError> {
    let mut composition = composition(graph, subgraphs, table, processors)?;
    composition.solve_all(mapper, limits, threads)?;
    Ok(network_mapping(&composition, Outcome::Heuristic))
}

/// The mapping problem of a subgraph. If it follows another one, `before` names the operators of that one's sink and
/// the processor on which they ran: what the subgraph reads of theirs has to be transferred from there.
///
/// # Errors
/// [`MappingError::Unsupported`] if an operator can run on none of the processors.
pub fn entered_problem(
    graph: &Graph,
    subgraph: &Subgraph,
    table: &CostTable,
    processors: &[ClassId],
    before: Option<(&[OperatorId], ProcessorId)>,
) -> Result<MappingProblem, MappingError> {
    let mut problem = MappingProblem::of_subgraph(graph, subgraph, table, processors)?;
    let Some((sink, source)) = before else { return Ok(problem) };

    for (node, operators) in problem.nodes().zip(&subgraph.nodes) {
        for (target, &class) in ProcessorId::all(processors.len()).zip(processors) {
            let arrival = |bytes: u64| {
                if target == source {
                    Nanoseconds::ZERO
                } else {
                    table.transfer(processors[source.index()], class, bytes)
                }
            };
            let read = operators
                .iter()
                .flat_map(|&id| &graph.operator(id).inputs)
                .filter(|&&value| graph.producer(value).is_some_and(|producer| sink.contains(&producer)));
            let latest = read.map(|&value| arrival(graph.value(value).bytes().unwrap_or(0))).max();
            problem.set_release(node, target, latest.unwrap_or_default());
        }
    }
    Ok(problem)
}

/// Every subgraph between every two processors on which it may begin and end.
fn composition(
    graph: &Graph,
    subgraphs: &[Subgraph],
    table: &CostTable,
    processors: &[ClassId],
) -> Result<Composition, MappingError> {
    let mut composition = Composition::new(subgraphs.len(), processors.len());
    for (id, subgraph) in SubgraphId::all(subgraphs.len()).zip(subgraphs) {
        let before = id.before().and_then(|before| subgraphs[before.index()].nodes.last());
        let sources: Vec<Option<ProcessorId>> = match before {
            Some(_) => ProcessorId::all(processors.len()).map(Some).collect(),
            None => vec![None],
        };
        for source in sources {
            let before = before.map(Vec::as_slice).zip(source);
            let problem = entered_problem(graph, subgraph, table, processors, before)?;
            composition.add(id, source, &problem);
        }
    }
    Ok(composition)
}

/// The network's mapping as far as its subgraphs are solved.
fn network_mapping(composition: &Composition, outcome: Outcome) -> NetworkMapping {
    let best = composition.shortest(|mapping| mapping.makespan);
    let bound = composition.shortest(|mapping| mapping.lower_bound);
    let part = |&pair: &Pair| SubgraphMapping { mapping: composition.mapping(pair), end: pair.end };
    NetworkMapping {
        subgraphs: best.pairs.iter().map(part).collect(),
        makespan: best.cost,
        lower_bound: bound.cost,
        outcome: if best.cost == bound.cost { Outcome::Optimal } else { outcome },
        problem_count: composition.problem_count(),
    }
}
