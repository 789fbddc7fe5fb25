use highs::{Col, RowProblem};
use millstream_cost::Nanoseconds;
use millstream_partition::reachability;

use crate::bounds::quick;
use crate::local_search::Found;
use crate::mapping::{Budget, Limits, Mapper, Mapping, Outcome};
use crate::{MappingError, MappingProblem, exact};

use super::solver::{Until, minimise};

/// The horizon in the solver's units.
const SCALE: f64 = 1000.0;

/// Para-Pipe's fine-grained integer program (equations 3 to 7) as published: starts of all nodes, products of assignments for
/// transfers, and for every pair of nodes that may overlap an ordering variable with a big constant. A baseline: beyond
/// some dozens of nodes its bound is weak.
#[derive(Debug, Clone, Copy, Default)]
pub struct FineIlp;

impl Mapper for FineIlp {
    fn name(&self) -> &'static str {
        "Para-Pipe fine ILP"
    }

    fn map(&self, problem: &MappingProblem, limits: &Limits<'_>) -> Result<Mapping, MappingError> {
        let budget = Budget::start(limits);
        let (found, lower) = solve(problem, limits)?;
        // Without a solution in time, what the solver would have been compared with.
        let found = match found {
            Some(found) => found,
            None => exact::best_of(&[exact::LISTS, super::STARTS].concat(), problem, limits)
                .ok_or_else(exact::nothing_found)?,
        };
        let outcome = budget.reason(found.makespan, lower).unwrap_or(Outcome::StepLimit);
        Ok(exact::finish(problem, found, lower, outcome))
    }
}

impl FineIlp {
    /// The same without anything that stands in for a solution: `None` if the solver found none in time.
    ///
    /// # Errors
    /// [`MappingError::Solver`] if the solver fails.
    pub fn solution(&self, problem: &MappingProblem, limits: &Limits<'_>) -> Result<Option<Mapping>, MappingError> {
        let (found, lower) = solve(problem, limits)?;
        let finish = |found: Found| {
            let reason = Budget::start(limits).reason(found.makespan, lower);
            exact::finish(problem, found, lower, reason.unwrap_or(Outcome::StepLimit))
        };
        Ok(found.map(finish))
    }
}

/// What the solver found in time, and a bound.
fn solve(problem: &MappingProblem, limits: &Limits<'_>) -> Result<(Option<Found>, u64), MappingError> {
    if problem.is_empty() {
        return Ok((Some(Found { order: vec![Vec::new(); problem.processors()], makespan: 0 }), 0));
    }
    let program = Program::new(problem);
    let solved = minimise(program.rows, true, limits.gap, Until::Over(limits.program_time))?;
    let lower = solved.nanoseconds(program.unit).max(quick(problem));
    let found = solved.values.map(|values| program_order(problem, &program.assigned, &program.starts, &values));
    Ok((found, lower))
}

struct Program {
    rows: RowProblem,
    unit: f64,
    assigned: Vec<Option<Col>>,
    starts: Vec<Col>,
}

impl Program {
    fn new(problem: &MappingProblem) -> Self {
        let processors = problem.processors();
        let slowest =
            |node: usize| problem.supporting(node).filter_map(|place| problem.time(node, place)).max().unwrap_or(0);
        let transfers = |edge: &crate::Edge| {
            let pairs = (0..processors).flat_map(|from| (0..processors).map(move |to| (from, to)));
            pairs.map(|(from, to)| edge.transfer(from, to)).max().unwrap_or(0)
        };
        let release =
            (0..problem.len()).flat_map(|node| (0..processors).map(move |place| problem.release(node, place))).max();
        let horizon = (0..problem.len()).map(slowest).sum::<u64>()
            + problem.edges().iter().map(transfers).sum::<u64>()
            + release.unwrap_or(0);
        let unit = horizon.max(1) as f64 / SCALE;
        let scaled = |nanoseconds: u64| nanoseconds as f64 / unit;
        let mut rows = RowProblem::default();
        let makespan = rows.add_column(1.0, 0.0..);
        let mut assigned = Vec::with_capacity(problem.len() * processors);
        for node in 0..problem.len() {
            for place in 0..processors {
                assigned.push(problem.time(node, place).map(|_| rows.add_integer_column(0.0, 0..=1)));
            }
        }
        let starts: Vec<Col> = (0..problem.len()).map(|_| rows.add_column(0.0, 0.0..)).collect();
        let places = |node: usize| -> Vec<(usize, Col)> {
            let own = assigned[node * processors..(node + 1) * processors].iter().enumerate();
            own.filter_map(|(place, column)| Some((place, (*column)?))).collect()
        };
        let time = |node: usize, place: usize| scaled(problem.time(node, place).unwrap_or(0));
        for (node, &start) in starts.iter().enumerate() {
            let own = places(node);
            rows.add_row(1..=1, own.iter().map(|&(_, column)| (column, 1.0)).collect::<Vec<_>>());
            let mut end = vec![(makespan, 1.0), (start, -1.0)];
            end.extend(own.iter().map(|&(place, column)| (column, -time(node, place))));
            rows.add_row(0.., end);
            let mut begin = vec![(start, 1.0)];
            begin.extend(own.iter().map(|&(place, column)| (column, -scaled(problem.release(node, place)))));
            rows.add_row(0.., begin);
        }
        for edge in problem.edges() {
            let (makers, readers) = (places(edge.from), places(edge.to));
            let mut row = vec![(starts[edge.to], 1.0), (starts[edge.from], -1.0)];
            row.extend(makers.iter().map(|&(place, column)| (column, -time(edge.from, place))));
            let mut all = Vec::new();
            for &(maker, made) in &makers {
                for &(reader, read) in &readers {
                    let both = rows.add_integer_column(0.0, 0..=1);
                    rows.add_row(..=0, [(both, 1.0), (made, -1.0)]);
                    rows.add_row(..=0, [(both, 1.0), (read, -1.0)]);
                    row.push((both, -scaled(edge.transfer(maker, reader))));
                    all.push((both, 1.0));
                }
            }
            rows.add_row(1..=1, all);
            rows.add_row(0.., row);
        }
        let reaches = reachability(problem.len(), problem.edges().iter().map(|edge| (edge.from, edge.to)));
        for (left, reaches) in reaches.iter().enumerate() {
            for (right, _) in reaches.iter().enumerate().skip(left + 1).filter(|(_, is_after)| !**is_after) {
                let first = rows.add_integer_column(0.0, 0..=1);
                for place in 0..processors {
                    let column = |node: usize| assigned[node * processors + place];
                    let (Some(left_here), Some(right_here)) = (column(left), column(right)) else { continue };
                    for (early, late, sign, slack) in [(left, right, 1.0, 2.0), (right, left, -1.0, 3.0)] {
                        // end of early - start of late <= M (2 - x - x) + M z, or with 1 - z.
                        let row = [
                            (starts[early], 1.0),
                            (starts[late], -1.0),
                            (left_here, SCALE),
                            (right_here, SCALE),
                            (first, -sign * SCALE),
                        ];
                        rows.add_row(..=(slack * SCALE - time(early, place)), row);
                    }
                }
            }
        }
        Self { rows, unit, assigned, starts }
    }
}

/// Orders by the program's starts; the evaluation then is that of every other mapping.
fn program_order(problem: &MappingProblem, assigned: &[Option<Col>], starts: &[Col], values: &[f64]) -> Found {
    // Columns are numbered in the order in which they were added: the makespan, assignments, starts.
    let mut place_of = vec![0; problem.len()];
    let mut column = 1;
    for (index, variable) in assigned.iter().enumerate() {
        if variable.is_some() {
            if values.get(column).is_some_and(|&value| value > 0.5) {
                place_of[index / problem.processors()] = index % problem.processors();
            }
            column += 1;
        }
    }
    let start = |node: usize| values.get(column + node).copied().unwrap_or(0.0);
    let mut nodes: Vec<usize> = (0..starts.len()).collect();
    // Starts that differ by rounding only keep the order of the nodes, which is topological; but what takes no time comes before what
    // starts at the same moment and takes some.
    let takes_time = |node: usize| problem.time(node, place_of[node]).is_some_and(|time| time > 0);
    nodes.sort_by_key(|&node| ((start(node) * 1e4).round() as i64, takes_time(node), node));
    let mut order = vec![Vec::new(); problem.processors()];
    for node in nodes {
        order[place_of[node]].push(node);
    }
    let makespan = problem.makespan(&order).unwrap_or(Nanoseconds(u64::MAX / 4)).0;
    Found { order, makespan }
}
