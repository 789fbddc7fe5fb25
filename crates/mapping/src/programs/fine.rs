//! The fine-grained integer program of Para-Pipe, as a baseline.

use highs::{Col, RowProblem};
use millstream_cost::Nanoseconds;
use millstream_partition::reachability;
use millstream_schedule::execution::{ProcessorId, TaskId};

use crate::bounds::quick_bound;
use crate::error::MappingError;
use crate::mapper::Mapper;
use crate::mapper::budget::Budget;
use crate::mapper::limits::MapperLimits;
use crate::mapper::mapping::Mapping;
use crate::mapper::outcome::Outcome;
use crate::problem::MappingProblem;
use crate::problem::edge::Edge;
use crate::programs::STARTS;
use crate::programs::solver::{Until, minimise};
use crate::search::incumbent::{Incumbent, finish};
use crate::search::starts::{LISTS, best_of};

/// The horizon in the solver's units.
const SCALE: f64 = 1000.0;

/// Para-Pipe's fine-grained integer program (equations 3 to 7) as published: starts of all nodes, products of
/// assignments for transfers, and for every pair of nodes that may overlap an ordering variable with a big constant. A
/// baseline: beyond some dozens of nodes its bound is weak.
#[derive(Debug, Clone, Copy, Default)]
pub struct FineIlp;

impl Mapper for FineIlp {
    fn name(&self) -> &'static str {
        "Para-Pipe fine ILP"
    }

    fn map(&self, problem: &MappingProblem, limits: &MapperLimits<'_>) -> Result<Mapping, MappingError> {
        let budget = Budget::start(limits);
        let (incumbent, lower) = solve(problem, limits)?;
        // Without a solution in time, what the solver would have been compared with.
        let incumbent = match incumbent {
            Some(incumbent) => incumbent,
            None => best_of(&[LISTS, STARTS].concat(), problem, limits).ok_or(MappingError::NoMapping)?,
        };
        let outcome = budget.reason(incumbent.makespan, lower).unwrap_or(Outcome::StepLimit);
        Ok(finish(problem, incumbent, lower, outcome))
    }
}

impl FineIlp {
    /// The solver's own mapping, where [`Mapper::map`] has a heuristic stand in for it: `None` if the solver found none
    /// in time.
    ///
    /// # Errors
    /// [`MappingError::Solver`] if the solver fails.
    pub fn solution(
        &self,
        problem: &MappingProblem,
        limits: &MapperLimits<'_>,
    ) -> Result<Option<Mapping>, MappingError> {
        let (incumbent, lower) = solve(problem, limits)?;
        let finished = |incumbent: Incumbent| {
            let reason = Budget::start(limits).reason(incumbent.makespan, lower);
            finish(problem, incumbent, lower, reason.unwrap_or(Outcome::StepLimit))
        };
        Ok(incumbent.map(finished))
    }
}

/// What the solver found in time, and a bound.
fn solve(
    problem: &MappingProblem,
    limits: &MapperLimits<'_>,
) -> Result<(Option<Incumbent>, Nanoseconds), MappingError> {
    if problem.is_empty() {
        let order = vec![Vec::new(); problem.processor_count()];
        return Ok((Some(Incumbent { order, makespan: Nanoseconds::ZERO }), Nanoseconds::ZERO));
    }
    let mut program = Program::new(problem);
    let rows = std::mem::take(&mut program.rows);
    let solved = minimise(rows, true, limits.gap, Until::Over(limits.program_time))?;
    let lower = solved.nanoseconds(program.unit).max(quick_bound(problem));
    let incumbent = solved.values.and_then(|values| program.order(problem, &values));
    Ok((incumbent, lower))
}

struct Program {
    rows: RowProblem,
    /// Nanoseconds in one unit of the solver.
    unit: f64,
    makespan: Col,
    /// Per node and processor, whether the node is there.
    assigned: Vec<Vec<Option<Col>>>,
    starts: Vec<Col>,
}

impl Program {
    fn new(problem: &MappingProblem) -> Self {
        let mut rows = RowProblem::default();
        let makespan = rows.add_column(1.0, 0.0..);
        let mut assigned = Vec::with_capacity(problem.len());
        for node in problem.nodes() {
            let column = |processor| problem.time(node, processor).map(|_| rows.add_integer_column(0.0, 0..=1));
            assigned.push(problem.processors().map(column).collect());
        }
        let starts = problem.nodes().map(|_| rows.add_column(0.0, 0.0..)).collect();
        let unit = horizon(problem).0.max(1) as f64 / SCALE;
        let mut program = Self { rows, unit, makespan, assigned, starts };

        problem.nodes().for_each(|node| program.add_node(problem, node));
        problem.edges().iter().for_each(|edge| program.add_edge(problem, edge));
        program.add_orders(problem);
        program
    }

    fn scaled(&self, time: Nanoseconds) -> f64 {
        time.0 as f64 / self.unit
    }

    fn time(&self, problem: &MappingProblem, node: TaskId, processor: ProcessorId) -> f64 {
        self.scaled(problem.time(node, processor).unwrap_or_default())
    }

    fn start(&self, node: TaskId) -> Col {
        self.starts[node.index()]
    }

    /// Processors that a node may be on, with their columns.
    fn choices(&self, node: TaskId) -> Vec<(ProcessorId, Col)> {
        let columns = &self.assigned[node.index()];
        ProcessorId::all(columns.len())
            .zip(columns)
            .filter_map(|(processor, column)| Some((processor, (*column)?)))
            .collect()
    }

    /// A node is somewhere, ends before the makespan, and begins after its release.
    fn add_node(&mut self, problem: &MappingProblem, node: TaskId) {
        let (choices, start) = (self.choices(node), self.start(node));
        self.rows.add_row(1..=1, choices.iter().map(|&(_, column)| (column, 1.0)).collect::<Vec<_>>());
        let mut end = vec![(self.makespan, 1.0), (start, -1.0)];
        end.extend(choices.iter().map(|&(processor, column)| (column, -self.time(problem, node, processor))));
        self.rows.add_row(0.., end);
        let mut begin = vec![(start, 1.0)];
        begin.extend(
            choices.iter().map(|&(processor, column)| (column, -self.scaled(problem.release(node, processor)))),
        );
        self.rows.add_row(0.., begin);
    }

    /// The reader starts after the maker and the transfer, for which there is a column per pair of processors.
    fn add_edge(&mut self, problem: &MappingProblem, edge: &Edge) {
        let (makers, readers) = (self.choices(edge.from), self.choices(edge.to));
        let mut row = vec![(self.start(edge.to), 1.0), (self.start(edge.from), -1.0)];
        row.extend(makers.iter().map(|&(processor, column)| (column, -self.time(problem, edge.from, processor))));
        let mut all = Vec::new();
        for &(maker, made) in &makers {
            for &(reader, read) in &readers {
                let both = self.rows.add_integer_column(0.0, 0..=1);
                self.rows.add_row(..=0, [(both, 1.0), (made, -1.0)]);
                self.rows.add_row(..=0, [(both, 1.0), (read, -1.0)]);
                row.push((both, -self.scaled(edge.transfer(maker, reader))));
                all.push((both, 1.0));
            }
        }
        self.rows.add_row(1..=1, all);
        self.rows.add_row(0.., row);
    }

    /// Of two nodes that may overlap, one comes first if they are on the same processor.
    fn add_orders(&mut self, problem: &MappingProblem) {
        let edges = problem.edges().iter().map(|edge| (edge.from.index(), edge.to.index()));
        let reaches = reachability(problem.len(), edges);
        for (left, reaches) in problem.nodes().zip(&reaches) {
            let after = problem.nodes().zip(reaches).skip(left.index() + 1);
            for (right, _) in after.filter(|(_, is_after)| !**is_after) {
                self.add_order(problem, left, right);
            }
        }
    }

    fn add_order(&mut self, problem: &MappingProblem, left: TaskId, right: TaskId) {
        let first = self.rows.add_integer_column(0.0, 0..=1);
        for processor in problem.processors() {
            let column = |node: TaskId| self.assigned[node.index()][processor.index()];
            let (Some(left_here), Some(right_here)) = (column(left), column(right)) else { continue };
            for (early, late, sign, slack) in [(left, right, 1.0, 2.0), (right, left, -1.0, 3.0)] {
                // end of early - start of late <= M (2 - x - x) + M z, or with 1 - z.
                let row = [
                    (self.start(early), 1.0),
                    (self.start(late), -1.0),
                    (left_here, SCALE),
                    (right_here, SCALE),
                    (first, -sign * SCALE),
                ];
                self.rows.add_row(..=(slack * SCALE - self.time(problem, early, processor)), row);
            }
        }
    }

    /// Orders by the program's starts; the evaluation then is that of every other mapping. `None` if rounded starts are
    /// in an order in which nodes can't run.
    fn order(&self, problem: &MappingProblem, values: &[f64]) -> Option<Incumbent> {
        // Columns are numbered in the order in which they were added: the makespan, assignments, starts.
        let mut place_of = vec![ProcessorId::new(0); problem.len()];
        let mut column = 1;
        for (home, columns) in place_of.iter_mut().zip(&self.assigned) {
            for (processor, _) in problem.processors().zip(columns).filter(|(_, variable)| variable.is_some()) {
                if values.get(column).is_some_and(|&value| value > 0.5) {
                    *home = processor;
                }
                column += 1;
            }
        }
        let start = |node: TaskId| values.get(column + node.index()).copied().unwrap_or(0.0);
        let mut nodes: Vec<TaskId> = problem.nodes().collect();
        // Starts that differ by rounding only keep the order of the nodes, which is topological; but what takes no time
        // comes before what starts at the same moment and takes some.
        let takes_time =
            |node: TaskId| problem.time(node, place_of[node.index()]).is_some_and(|time| time > Nanoseconds::ZERO);
        nodes.sort_by_key(|&node| ((start(node) * 1e4).round() as i64, takes_time(node), node));
        let mut order = vec![Vec::new(); problem.processor_count()];
        for node in nodes {
            order[place_of[node.index()].index()].push(node);
        }
        let makespan = problem.makespan(&order)?;
        Some(Incumbent { order, makespan })
    }
}

/// Nothing takes longer: all nodes on their slowest processors one after the other, with all transfers between them.
fn horizon(problem: &MappingProblem) -> Nanoseconds {
    let slowest = |node: TaskId| {
        problem.supporting(node).filter_map(|processor| problem.time(node, processor)).max().unwrap_or_default()
    };
    let releases =
        problem.nodes().flat_map(|node| problem.processors().map(move |processor| problem.release(node, processor)));
    let transfers = problem.edges().iter().map(Edge::slowest_transfer);
    problem.nodes().map(slowest).sum::<Nanoseconds>() + transfers.sum() + releases.max().unwrap_or_default()
}
