//! A lower bound from an integer program without the order of nodes.
//!
//! Nodes are assigned to processors. Starts follow from paths through assigned times and transfers; processors are held to
//! their load: what a processor does of a set of nodes comes after the least head and before the least tail of the set.
//! Leaving the order out keeps the program small, and where many nodes can run at once the bound is nearly tight.

use highs::{Col, RowProblem};

use crate::bounds::PathBounds;
use crate::mapping::Budget;
use crate::{MappingError, MappingProblem};

use super::solver::{Until, minimise};

/// Assignments of nodes to processors beyond which only the linear program is solved: the solver would not come to an end.
const MOST_INTEGERS: usize = 2000;
/// Rounds of adding load rows that a solution violates.
const ROUNDS: usize = 12;
/// Load rows that are added in one round at the most, for each processor.
const ROWS_PER_ROUND: usize = 6;
/// Heads and tails that load rows start and end with, at the most.
const MOST_THRESHOLDS: usize = 96;
/// The horizon in the solver's units, which keeps all numbers in a range that it handles well.
const SCALE: f64 = 1000.0;

/// Nodes that start at `head` or later and are followed by at least `tail`, on one processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LoadRow {
    head: u64,
    tail: u64,
    processor: usize,
}

struct Relaxation<'a> {
    problem: &'a MappingProblem,
    bounds: &'a PathBounds,
    horizon: u64,
    rows: Vec<LoadRow>,
}

/// A lower bound in nanoseconds that is at least the critical path. `horizon` is a makespan that is known to be possible.
pub(crate) fn bound(
    problem: &MappingProblem,
    bounds: &PathBounds,
    horizon: u64,
    gap: f64,
    budget: &Budget<'_>,
) -> Result<u64, MappingError> {
    let mut relaxation = Relaxation { problem, bounds, horizon, rows: Vec::new() };
    let mut best = bounds.critical;
    if horizon <= best {
        return Ok(best);
    }
    relaxation.add_all_work();
    for _ in 0..ROUNDS {
        let solved = minimise(relaxation.program(false), false, 0.0, Until::Spent(budget))?;
        best = best.max(solved.nanoseconds(relaxation.unit()));
        let Some(values) = solved.values else { return Ok(best) };
        if budget.reason(horizon, best).is_some() || !relaxation.separate(&values) {
            break;
        }
    }
    let is_large = problem.len() * problem.processors() > MOST_INTEGERS;
    if is_large || budget.reason(horizon, best).is_some() {
        return Ok(best);
    }
    let solved = minimise(relaxation.program(true), true, gap / 4.0, Until::Spent(budget))?;
    Ok(best.max(solved.nanoseconds(relaxation.unit())))
}

impl Relaxation<'_> {
    fn unit(&self) -> f64 {
        self.horizon.max(1) as f64 / SCALE
    }

    fn add_all_work(&mut self) {
        for processor in 0..self.problem.processors() {
            self.rows.push(LoadRow { head: 0, tail: 0, processor });
        }
    }

    fn in_row(&self, node: usize, row: LoadRow) -> bool {
        self.bounds.heads[node] >= row.head
            && self.bounds.least_tails[node] >= row.tail
            && self.problem.time(node, row.processor).is_some()
    }

    /// The program: the makespan is its first column, then come the assignments, row per node.
    fn program(&self, is_integer: bool) -> RowProblem {
        let (problem, unit) = (self.problem, self.unit());
        let scaled = |nanoseconds: u64| nanoseconds as f64 / unit;
        let mut program = RowProblem::default();
        let makespan = program.add_column(1.0, scaled(self.bounds.critical)..);
        let mut assigned: Vec<Option<Col>> = Vec::with_capacity(problem.len() * problem.processors());
        for node in 0..problem.len() {
            for processor in 0..problem.processors() {
                let column = problem.time(node, processor).map(|_| match is_integer {
                    true => program.add_integer_column(0.0, 0..=1),
                    false => program.add_column(0.0, 0..=1),
                });
                assigned.push(column);
            }
        }
        let starts: Vec<Col> =
            (0..problem.len()).map(|node| program.add_column(0.0, scaled(self.bounds.heads[node])..)).collect();
        let places = |node: usize| {
            let row = &assigned[node * problem.processors()..(node + 1) * problem.processors()];
            row.iter().enumerate().filter_map(|(processor, column)| Some((processor, (*column)?))).collect::<Vec<_>>()
        };
        for (node, &start) in starts.iter().enumerate() {
            let own = places(node);
            program.add_row(1..=1, own.iter().map(|&(_, column)| (column, 1.0)).collect::<Vec<_>>());
            let time = |processor: usize| scaled(problem.time(node, processor).unwrap_or(0));
            let rest = |processor: usize| time(processor) + scaled(self.bounds.tail(node, processor));
            let mut row = vec![(makespan, 1.0), (start, -1.0)];
            row.extend(own.iter().map(|&(processor, column)| (column, -rest(processor))));
            program.add_row(0.., row);
            let head = |processor: usize| scaled(self.bounds.end(node, processor)) - time(processor);
            let mut row = vec![(start, 1.0)];
            row.extend(own.iter().map(|&(processor, column)| (column, -head(processor))));
            program.add_row(0.., row);
        }
        for edge in problem.edges() {
            let (makers, readers) = (places(edge.from), places(edge.to));
            let mut row = vec![(starts[edge.to], 1.0), (starts[edge.from], -1.0)];
            let time = |processor: usize| scaled(problem.time(edge.from, processor).unwrap_or(0));
            row.extend(makers.iter().map(|&(processor, column)| (column, -time(processor))));
            let transfer = |maker: usize, reader: usize| edge.transfer(maker, reader);
            let is_free =
                makers.iter().all(|&(maker, _)| readers.iter().all(|&(reader, _)| transfer(maker, reader) == 0));
            if !is_free {
                // Products of the two assignments.
                let products: Vec<Vec<Col>> =
                    makers.iter().map(|_| readers.iter().map(|_| program.add_column(0.0, 0..=1)).collect()).collect();
                for (place, &(_, column)) in makers.iter().enumerate() {
                    let mut equal = vec![(column, -1.0)];
                    equal.extend(products[place].iter().map(|&product| (product, 1.0)));
                    program.add_row(0..=0, equal);
                }
                for (place, &(_, column)) in readers.iter().enumerate() {
                    let mut equal = vec![(column, -1.0)];
                    equal.extend(products.iter().map(|products| (products[place], 1.0)));
                    program.add_row(0..=0, equal);
                }
                for (products, &(maker, _)) in products.iter().zip(&makers) {
                    for (&product, &(reader, _)) in products.iter().zip(&readers) {
                        row.push((product, -scaled(transfer(maker, reader))));
                    }
                }
            }
            program.add_row(0.., row);
        }
        for &load in &self.rows {
            let mut row = vec![(makespan, 1.0)];
            for node in (0..problem.len()).filter(|&node| self.in_row(node, load)) {
                if let Some(column) = assigned[node * problem.processors() + load.processor] {
                    row.push((column, -scaled(problem.time(node, load.processor).unwrap_or(0))));
                }
            }
            program.add_row(scaled(load.head + load.tail).., row);
        }
        // Of processors that are the same, the first has the most to do.
        let twins = problem.twins();
        for (processor, &first) in twins.iter().enumerate().filter(|&(processor, &first)| first < processor) {
            let before = (first..processor).rev().find(|&other| twins[other] == first).unwrap_or(first);
            let mut row = Vec::new();
            for node in 0..problem.len() {
                let time = scaled(problem.time(node, processor).unwrap_or(0));
                for (other, factor) in [(before, time), (processor, -time)] {
                    row.extend(assigned[node * problem.processors() + other].map(|column| (column, factor)));
                }
            }
            program.add_row(0.., row);
        }
        program
    }

    /// Adds the load rows that a solution violates most; `false` if it violates none.
    fn separate(&mut self, values: &[f64]) -> bool {
        let problem = self.problem;
        let (heads, tails) = (thresholds(&self.bounds.heads), thresholds(&self.bounds.least_tails));
        // The makespan is the first column, then come the assignments.
        let makespan = values.first().copied().unwrap_or(0.0) * self.unit();
        let mut columns = values.iter().skip(1);
        let shares: Vec<f64> = (0..problem.len() * problem.processors())
            .map(|place| {
                let (node, processor) = (place / problem.processors(), place % problem.processors());
                if problem.time(node, processor).is_some() { columns.next().copied().unwrap_or(0.0) } else { 0.0 }
            })
            .collect();
        let mut is_violated = false;
        for processor in 0..problem.processors() {
            let mut violated: Vec<(f64, LoadRow)> = Vec::new();
            for &head in &heads {
                for &tail in &tails {
                    let row = LoadRow { head, tail, processor };
                    let load: f64 = (0..problem.len())
                        .filter(|&node| self.in_row(node, row))
                        .map(|node| {
                            shares[node * problem.processors() + processor]
                                * problem.time(node, processor).unwrap_or(0) as f64
                        })
                        .sum();
                    let excess = load + (head + tail) as f64 - makespan;
                    if load > 0.0 && excess > 1e-5 * makespan && !self.rows.contains(&row) {
                        violated.push((excess, row));
                    }
                }
            }
            violated.sort_by(|left, right| right.0.total_cmp(&left.0));
            is_violated |= !violated.is_empty();
            self.rows.extend(violated.into_iter().take(ROWS_PER_ROUND).map(|(_, row)| row));
        }
        is_violated
    }
}

/// Different values in ascending order, at most so many of them, evenly picked.
fn thresholds(values: &[u64]) -> Vec<u64> {
    let mut values = values.to_vec();
    values.sort_unstable();
    values.dedup();
    let step = values.len().div_ceil(MOST_THRESHOLDS).max(1);
    values.into_iter().step_by(step).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use proptest::prelude::*;

    use super::*;
    use crate::Limits;
    use crate::problems::{best_order, blocking_problems, brute_force, problems};

    fn unclamped(problem: &MappingProblem, horizon: u64) -> u64 {
        let budget = Budget::start(&Limits::default());
        bound(problem, &PathBounds::new(problem), horizon, 0.0, &budget).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(250))]

        /// The bound as it comes, before anybody compares it with a makespan, from a good start and from a bad one.
        #[test]
        fn no_bound_is_higher_than_the_optimum(plain in problems(6), blocking in blocking_problems(5), slack in 0_u64..40) {
            let best = brute_force(&plain);
            prop_assert!(unclamped(&plain, best + slack) <= best);
            let best = best_order(&blocking);
            prop_assert!(unclamped(&blocking, best + slack) <= best);
        }
    }
}
