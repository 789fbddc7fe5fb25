//! The coarse-grained integer program of Para-Pipe.

use good_lp::{Expression, ProblemVariables, Solution, SolverModel, constraint, highs, variable};
use millstream_cost::Nanoseconds;
use millstream_schedule::execution::{ProcessorId, TaskId};

use crate::error::MappingError;
use crate::mapper::Mapper;
use crate::mapper::limits::MapperLimits;
use crate::mapper::mapping::Mapping;
use crate::problem::MappingProblem;
use crate::problem::edge::Edge;
use crate::published::lists::heuristic;

/// Para-Pipe's coarse-grained integer program (equations 1 and 2): every branch before the sink goes to one processor
/// as a whole, so that the longest load is least; the sink goes to the fastest processor. Nodes of a branch that are
/// not on its most demanding path are mapped in the same way afterwards, beside the loads that there are then.
///
/// The published program adds transfers to loads; its mapping is evaluated like every other.
#[derive(Debug, Clone, Copy, Default)]
pub struct CoarseIlp;

/// Nodes of the solver's search for one level of branches, of which there are few.
const MOST_NODES: i32 = 2000;

/// Nodes that go to one processor together, in an order in which they can run.
type Path = Vec<TaskId>;

impl Mapper for CoarseIlp {
    fn name(&self) -> &'static str {
        "Para-Pipe coarse ILP"
    }

    fn map(&self, problem: &MappingProblem, _limits: &MapperLimits<'_>) -> Result<Mapping, MappingError> {
        let mut placement: Vec<Option<ProcessorId>> = vec![None; problem.len()];
        let mut loads = vec![0.0; problem.processor_count()];
        let Some(sink) = problem.last_node() else {
            return heuristic(problem, vec![Vec::new(); problem.processor_count()]);
        };
        let fastest = fastest_for(problem, sink);
        placement[sink.index()] = Some(fastest);
        let mut open: Vec<TaskId> = problem.nodes().filter(|&node| node != sink).collect();
        while !open.is_empty() {
            let branches = components(problem, &open);
            let paths: Vec<Path> = branches.iter().map(|branch| demanding_path(problem, branch)).collect();
            assign(problem, &paths, fastest, &mut placement, &mut loads)?;
            open.retain(|node| placement[node.index()].is_none());
        }
        let mut order = vec![Vec::new(); problem.processor_count()];
        for (node, processor) in problem.nodes().zip(&placement) {
            if let Some(processor) = processor {
                order[processor.index()].push(node);
            }
        }
        heuristic(problem, order)
    }
}

fn fastest_for(problem: &MappingProblem, node: TaskId) -> ProcessorId {
    let supporting = problem.supporting(node);
    supporting.min_by_key(|&processor| problem.time(node, processor)).unwrap_or(ProcessorId::new(0))
}

/// Nodes that hang together by edges between them.
fn components(problem: &MappingProblem, nodes: &[TaskId]) -> Vec<Vec<TaskId>> {
    let mut is_open = vec![false; problem.len()];
    nodes.iter().for_each(|node| is_open[node.index()] = true);
    let mut components = Vec::new();
    for &first in nodes {
        if !std::mem::replace(&mut is_open[first.index()], false) {
            continue;
        }
        let mut component = vec![first];
        let mut next = 0;
        while let Some(&node) = component.get(next) {
            next += 1;
            let neighbours =
                problem.incoming(node).map(|edge| edge.from).chain(problem.outgoing(node).map(|edge| edge.to));
            for neighbour in neighbours.collect::<Vec<_>>() {
                if std::mem::replace(&mut is_open[neighbour.index()], false) {
                    component.push(neighbour);
                }
            }
        }
        component.sort_unstable();
        components.push(component);
    }
    components
}

/// The path with the most work, each node counted at its fastest.
fn demanding_path(problem: &MappingProblem, branch: &[TaskId]) -> Path {
    let mut best: Vec<(Nanoseconds, Option<TaskId>)> = vec![(Nanoseconds::ZERO, None); problem.len()];
    for &node in branch {
        let before = problem.incoming(node).map(|edge| edge.from).filter(|from| branch.contains(from));
        let longest = before.map(|from| (best[from.index()].0, Some(from))).max().unwrap_or_default();
        best[node.index()] = (longest.0 + problem.least_time(node), longest.1);
    }
    let mut path = Vec::new();
    let mut at = branch.iter().copied().max_by_key(|node| best[node.index()].0);
    while let Some(node) = at {
        path.push(node);
        at = best[node.index()].1;
    }
    path.reverse();
    path
}

/// Chooses a processor for each path; a node that the chosen processor can't run goes to the one that is fastest for
/// it.
fn assign(
    problem: &MappingProblem,
    paths: &[Path],
    fastest: ProcessorId,
    placement: &mut [Option<ProcessorId>],
    loads: &mut [f64],
) -> Result<(), MappingError> {
    let cost = |path: &Path, processor: ProcessorId| {
        path_cost(problem, path, processor, |node| placement[node.index()].unwrap_or(fastest))
    };
    let costs: Vec<Vec<f64>> =
        paths.iter().map(|path| problem.processors().map(|processor| cost(path, processor)).collect()).collect();
    let processors = least_load(&costs, fastest, loads)?;
    for ((path, processor), costs) in paths.iter().zip(processors).zip(costs) {
        loads[processor.index()] += costs[processor.index()];
        for &node in path {
            placement[node.index()] = Some(here(problem, node, processor));
        }
    }
    Ok(())
}

/// Where a node of a path runs that goes to this processor.
fn here(problem: &MappingProblem, node: TaskId, processor: ProcessorId) -> ProcessorId {
    if problem.time(node, processor).is_some() { processor } else { fastest_for(problem, node) }
}

/// What a path takes on a processor, transfers to nodes that can't run there and to what reads its last node included.
fn path_cost(
    problem: &MappingProblem,
    path: &Path,
    processor: ProcessorId,
    home: impl Fn(TaskId) -> ProcessorId,
) -> f64 {
    let here = |node: TaskId| here(problem, node, processor);
    let times = path.iter().map(|&node| problem.time(node, here(node)).unwrap_or_default());
    let moved = path.iter().filter(|&&node| here(node) != processor);
    let moves = moved.flat_map(|&node| problem.incoming(node).map(|edge| edge.transfer(processor, here(edge.to))));
    let leaving = path.last().into_iter().flat_map(|&tail| problem.outgoing(tail));
    let leaves = leaving.map(|edge: &Edge| edge.transfer(processor, home(edge.to))).max().unwrap_or_default();
    (times.sum::<Nanoseconds>() + moves.sum::<Nanoseconds>() + leaves).0 as f64
}

/// The processor of each path, of which the costs on each processor are given, such that the longest load is least.
fn least_load(costs: &[Vec<f64>], fastest: ProcessorId, loads: &[f64]) -> Result<Vec<ProcessorId>, MappingError> {
    let unit = costs.iter().map(|row| row[fastest.index()]).fold(1.0, f64::max);
    let mut variables = ProblemVariables::new();
    let longest = variables.add(variable().min(0.0));
    let chosen: Vec<Vec<good_lp::Variable>> =
        costs.iter().map(|_| loads.iter().map(|_| variables.add(variable().binary())).collect()).collect();
    let model = variables.minimise(longest).using(highs).set_threads(1);
    let mut model = model.set_option("random_seed", 1).set_option("mip_max_nodes", MOST_NODES);
    model.set_verbose(false);
    for row in &chosen {
        model.add_constraint(constraint!(row.iter().copied().sum::<Expression>() == 1.0));
    }
    for (processor, load) in ProcessorId::all(loads.len()).zip(loads) {
        let node_load: Expression = costs
            .iter()
            .zip(&chosen)
            .map(|(costs, row)| costs[processor.index()] / unit * row[processor.index()])
            .sum();
        model.add_constraint(constraint!(node_load + load / unit <= longest));
    }
    let solution = model.solve().map_err(|error| MappingError::Solver { detail: error.to_string() })?;
    let of_path = |row: &Vec<good_lp::Variable>| {
        let values = ProcessorId::all(row.len()).zip(row.iter().map(|&column| solution.value(column)));
        values.max_by(|left, right| left.1.total_cmp(&right.1)).map_or(fastest, |(processor, _)| processor)
    };
    Ok(chosen.iter().map(of_path).collect())
}
