use good_lp::{Expression, ProblemVariables, Solution, SolverModel, constraint, highs, variable};

use crate::lists::heuristic;
use crate::mapping::{Limits, Mapper, Mapping};
use crate::{MappingError, MappingProblem};

/// Para-Pipe's coarse-grained integer program (equations 1 and 2): every branch before the sink goes to one processor as a
/// whole, so that the longest load is least; the sink goes to the fastest processor. Nodes of a branch that are not on its
/// most demanding path are mapped in the same way afterwards, beside the loads that there are then.
///
/// The published program adds transfers to loads; its mapping is evaluated like every other.
#[derive(Debug, Clone, Copy, Default)]
pub struct CoarseIlp;

/// Nodes of the solver's search for one level of branches, of which there are few.
const MOST_NODES: i32 = 2000;

/// Nodes that go to one processor together, in an order in which they can run.
type Path = Vec<usize>;

impl Mapper for CoarseIlp {
    fn name(&self) -> &'static str {
        "Para-Pipe coarse ILP"
    }

    fn map(&self, problem: &MappingProblem, _limits: &Limits<'_>) -> Result<Mapping, MappingError> {
        let count = problem.len();
        let mut placement: Vec<Option<usize>> = vec![None; count];
        let mut loads = vec![0.0; problem.processors()];
        let Some(sink) = count.checked_sub(1) else {
            return Ok(heuristic(problem, vec![Vec::new(); problem.processors()]));
        };
        let fastest = fastest_for(problem, sink);
        placement[sink] = Some(fastest);
        let mut open: Vec<usize> = (0..sink).collect();
        while !open.is_empty() {
            let branches = components(problem, &open);
            let paths: Vec<Path> = branches.iter().map(|branch| demanding_path(problem, branch)).collect();
            assign(problem, &paths, fastest, &mut placement, &mut loads)?;
            open.retain(|&node| placement[node].is_none());
        }
        let mut order = vec![Vec::new(); problem.processors()];
        for (node, place) in placement.iter().enumerate() {
            if let Some(place) = *place {
                order[place].push(node);
            }
        }
        Ok(heuristic(problem, order))
    }
}

fn fastest_for(problem: &MappingProblem, node: usize) -> usize {
    problem.supporting(node).min_by_key(|&place| problem.time(node, place)).unwrap_or(0)
}

/// Nodes that hang together by edges between them.
fn components(problem: &MappingProblem, nodes: &[usize]) -> Vec<Vec<usize>> {
    let mut is_open = vec![false; problem.len()];
    nodes.iter().for_each(|&node| is_open[node] = true);
    let mut found = Vec::new();
    for &first in nodes {
        if !std::mem::replace(&mut is_open[first], false) {
            continue;
        }
        let mut component = vec![first];
        let mut next = 0;
        while let Some(&node) = component.get(next) {
            next += 1;
            let neighbours =
                problem.incoming(node).map(|edge| edge.from).chain(problem.outgoing(node).map(|edge| edge.to));
            for neighbour in neighbours.collect::<Vec<_>>() {
                if std::mem::replace(&mut is_open[neighbour], false) {
                    component.push(neighbour);
                }
            }
        }
        component.sort_unstable();
        found.push(component);
    }
    found
}

/// The path with the most work, each node counted at its fastest.
fn demanding_path(problem: &MappingProblem, branch: &[usize]) -> Path {
    let mut best: Vec<(u64, Option<usize>)> = vec![(0, None); problem.len()];
    for &node in branch {
        let before = problem.incoming(node).map(|edge| edge.from).filter(|from| branch.contains(from));
        let longest = before.map(|from| (best[from].0, Some(from))).max().unwrap_or((0, None));
        best[node] = (longest.0 + problem.least_time(node), longest.1);
    }
    let mut path = Vec::new();
    let mut at = branch.iter().copied().max_by_key(|&node| best[node].0);
    while let Some(node) = at {
        path.push(node);
        at = best[node].1;
    }
    path.reverse();
    path
}

/// Chooses a processor for each path; a node that the chosen processor can't run goes to the one that is fastest for it.
fn assign(
    problem: &MappingProblem,
    paths: &[Path],
    fastest: usize,
    placement: &mut [Option<usize>],
    loads: &mut [f64],
) -> Result<(), MappingError> {
    let here = |node: usize, place: usize| {
        if problem.time(node, place).is_some() { place } else { fastest_for(problem, node) }
    };
    let cost = |path: &Path, place: usize| -> f64 {
        let times = path.iter().map(|&node| problem.time(node, here(node, place)).unwrap_or(0));
        let moved = path.iter().filter(|&&node| here(node, place) != place);
        let moves =
            moved.flat_map(|&node| problem.incoming(node).map(|edge| edge.transfer(place, here(edge.to, place))));
        let leaving = path.last().into_iter().flat_map(|&tail| problem.outgoing(tail));
        let leaves = leaving.map(|edge| edge.transfer(place, placement[edge.to].unwrap_or(fastest))).max().unwrap_or(0);
        (times.sum::<u64>() + moves.sum::<u64>() + leaves) as f64
    };
    let processors = problem.processors();
    let unit = paths.iter().map(|path| cost(path, fastest)).fold(1.0, f64::max);
    let mut variables = ProblemVariables::new();
    let longest = variables.add(variable().min(0.0));
    let chosen: Vec<Vec<good_lp::Variable>> =
        paths.iter().map(|_| (0..processors).map(|_| variables.add(variable().binary())).collect()).collect();
    let model = variables.minimise(longest).using(highs).set_threads(1);
    let mut model = model.set_option("random_seed", 1).set_option("mip_max_nodes", MOST_NODES);
    model.set_verbose(false);
    for row in &chosen {
        model.add_constraint(constraint!(row.iter().copied().sum::<Expression>() == 1.0));
    }
    for place in 0..processors {
        let own: Expression = paths.iter().zip(&chosen).map(|(path, row)| cost(path, place) / unit * row[place]).sum();
        model.add_constraint(constraint!(own + loads[place] / unit <= longest));
    }
    let solution = model.solve().map_err(|error| MappingError::Solver { detail: error.to_string() })?;
    let places: Vec<usize> = chosen
        .iter()
        .map(|row| {
            let value = |place: usize| solution.value(row[place]);
            (0..processors).max_by(|&left, &right| value(left).total_cmp(&value(right))).unwrap_or(fastest)
        })
        .collect();
    let costs: Vec<f64> = paths.iter().zip(&places).map(|(path, &place)| cost(path, place)).collect();
    for ((path, place), cost) in paths.iter().zip(places).zip(costs) {
        loads[place] += cost;
        for &node in path {
            placement[node] = Some(here(node, place));
        }
    }
    Ok(())
}
