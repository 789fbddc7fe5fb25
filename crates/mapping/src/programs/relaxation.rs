//! A lower bound from an integer program without the order of nodes.
//!
//! Nodes are assigned to processors. Starts follow from paths through assigned times and transfers; processors are held
//! to their load: what a processor does of a set of nodes, and of the transfers that occupy it, comes after the least
//! head and before the least tail of the set. Leaving the order out keeps the program small, and where many nodes can
//! run at once the bound is nearly tight.

use highs::Model;
use millstream_cost::Nanoseconds;
use millstream_schedule::execution::{ProcessorId, TaskId};

use crate::bounds::PathBounds;
use crate::error::MappingError;
use crate::mapper::budget::Budget;
use crate::problem::MappingProblem;
use crate::programs::columns::Item;
use crate::programs::load_rows::{LoadRow, row_of};
use crate::programs::rows::Program;
use crate::programs::solver::{Until, minimise, minimise_again};

/// Assignments of nodes to processors beyond which only the linear program is solved: the solver would not come to an
/// end.
const MOST_INTEGERS: usize = 2000;
/// Rounds of adding load rows that a solution violates, to the linear and to the integer program.
const ROUNDS: usize = 40;
const INTEGER_ROUNDS: usize = 2;
/// Gap of the integer program: a smaller one takes longer than it is worth.
const INTEGER_GAP: f64 = 0.001;
/// Load rows that are added in one round at the most, for each processor.
const ROWS_PER_ROUND: usize = 8;
/// Heads and tails that load rows start and end with, at the most.
const MOST_THRESHOLDS: usize = 96;

/// What the programs say.
pub(crate) struct Relaxed {
    /// No makespan is shorter.
    pub(crate) bound: Nanoseconds,
    /// Nodes where the integer program puts them, in the order of its starts.
    pub(crate) order: Option<Vec<Vec<TaskId>>>,
}

/// A lower bound that is at least the critical path. `horizon` is a makespan that is known to be possible; what could
/// only be part of a longer mapping is left out, so that the bound says nothing of makespans above the horizon.
pub(crate) fn bound(
    problem: &MappingProblem,
    bounds: &PathBounds,
    horizon: Nanoseconds,
    gap: f64,
    budget: &Budget<'_>,
) -> Result<Relaxed, MappingError> {
    let mut best = bounds.critical;
    let bound_alone = |bound: Nanoseconds| Ok(Relaxed { bound, order: None });
    if horizon <= best {
        return bound_alone(best);
    }

    let whole = |processor: ProcessorId| LoadRow { head: Nanoseconds::ZERO, tail: Nanoseconds::ZERO, processor };
    let mut rows: Vec<LoadRow> = problem.processors().map(whole).collect();
    let Some(program) = Program::new(problem, bounds, horizon, &rows, false) else { return bound_alone(horizon) };
    let mut solved = minimise(program.rows.clone(), false, 0.0, Until::Spent(budget))?;
    for _ in 0..ROUNDS {
        best = best.max(solved.nanoseconds(program.unit)).min(horizon);
        let (Some(values), Some(model)) = (&solved.values, solved.model.take()) else { return bound_alone(best) };
        if budget.reason(horizon, best).is_some() {
            return bound_alone(best);
        }
        let violated = violated(&program, &rows, values, best, problem);
        if violated.is_empty() {
            break;
        }
        // The solver goes on from where it was.
        let mut model = Model::from(model);
        for row in &violated {
            let (least, factors) = row_of(*row, program.makespan, &program.items, program.unit);
            model
                .try_add_row(least.., factors)
                .map_err(|status| MappingError::Solver { detail: format!("a row was refused ({status:?})") })?;
        }
        rows.extend(violated);
        solved = minimise_again(model, false, 0.0, Until::Spent(budget))?;
    }

    if problem.len() * problem.processor_count() > MOST_INTEGERS {
        return bound_alone(best);
    }
    let mut order = None;
    for _ in 0..INTEGER_ROUNDS {
        let Some(program) = Program::new(problem, bounds, horizon, &rows, true) else { return bound_alone(horizon) };
        let solved = minimise(program.rows.clone(), true, (gap / 4.0).max(INTEGER_GAP), Until::Spent(budget))?;
        best = best.max(solved.nanoseconds(program.unit)).min(horizon);
        let Some(values) = &solved.values else { break };
        order = Some(program.order(problem, values));
        let violated = violated(&program, &rows, values, best, problem);
        if budget.reason(horizon, best).is_some() || violated.is_empty() {
            break;
        }
        rows.extend(violated);
    }

    Ok(Relaxed { bound: best, order })
}

/// The load rows that a solution violates most. A row holds even if nothing of its set is on the processor, which is
/// why its head and tail together are no more than what every mapping takes, `best`.
fn violated(
    program: &Program,
    rows: &[LoadRow],
    values: &[f64],
    best: Nanoseconds,
    problem: &MappingProblem,
) -> Vec<LoadRow> {
    let Program { items, unit, .. } = program;
    // The makespan is the first column.
    let makespan = values.first().copied().unwrap_or(0.0);
    let mut all = Vec::new();
    for processor in problem.processors() {
        let items_there: Vec<(&Item, f64)> = items
            .iter()
            .filter(|item| item.processor == processor)
            .map(|item| (item, item.weight * values.get(item.column.number).copied().unwrap_or(0.0)))
            .filter(|(_, load)| *load > 1e-9)
            .collect();
        let heads = thresholds(items_there.iter().map(|(item, _)| item.head));
        let tails = thresholds(items_there.iter().map(|(item, _)| item.tail));

        let mut violated: Vec<(f64, LoadRow)> = Vec::new();
        for &head in &heads {
            for &tail in tails.iter().filter(|&&tail| head + tail <= best) {
                let row = LoadRow { head, tail, processor };
                let load: f64 = items_there.iter().filter(|(item, _)| row.has(item)).map(|(_, load)| load).sum();
                let excess = load + (head + tail).0 as f64 / *unit - makespan;
                if load > 0.0 && excess > 1e-5 * makespan && !rows.contains(&row) {
                    violated.push((excess, row));
                }
            }
        }
        violated.sort_by(|left, right| right.0.total_cmp(&left.0));
        all.extend(violated.into_iter().take(ROWS_PER_ROUND).map(|(_, row)| row));
    }
    all
}

/// Different values in ascending order, at most so many of them, evenly picked.
fn thresholds(values: impl Iterator<Item = Nanoseconds>) -> Vec<Nanoseconds> {
    let mut values: Vec<Nanoseconds> = values.collect();
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
    use crate::mapper::limits::MapperLimits;
    use crate::problems::{best_order, blocking_problems, brute_force, problems};

    fn unclamped(problem: &MappingProblem, horizon: Nanoseconds) -> Nanoseconds {
        let budget = Budget::start(&MapperLimits::default());
        bound(problem, &PathBounds::new(problem), horizon, 0.0, &budget).unwrap().bound
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(250))]

        /// The bound as it comes, before anybody compares it with a makespan, from a good start and from a bad one.
        #[test]
        fn no_bound_is_higher_than_the_optimum(plain in problems(6), blocking in blocking_problems(5), slack in 0_u64..40) {
            let slack = Nanoseconds(slack);
            let best = brute_force(&plain);
            prop_assert!(unclamped(&plain, best + slack) <= best);
            let best = best_order(&blocking);
            prop_assert!(unclamped(&blocking, best + slack) <= best);
        }
    }
}
