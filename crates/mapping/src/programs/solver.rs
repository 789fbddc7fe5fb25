//! HiGHS, as far as mappers need it.

use std::time::Duration;

use highs::{HighsModelStatus, Model, RowProblem, Sense, SolvedModel};
use millstream_cost::Nanoseconds;

use crate::error::MappingError;
use crate::mapper::budget::Budget;

/// The solver is exact up to this, relatively.
const TOLERANCE: f64 = 3e-6;

/// What a solver returned.
pub(crate) struct Solved {
    /// Values of the columns; `None` if no solution was found.
    pub(crate) values: Option<Vec<f64>>,
    /// No solution has a smaller objective.
    pub(crate) bound: f64,
    /// The solver with all that it knows, to be asked again.
    pub(crate) model: Option<SolvedModel>,
}

impl Solved {
    /// What a solver returns that lost its way.
    const NOTHING: Self = Self { values: None, bound: f64::NEG_INFINITY, model: None };

    /// The bound as a true one in whole nanoseconds, `unit` of which are one in the program: every makespan is a whole
    /// number.
    pub(crate) fn nanoseconds(&self, unit: f64) -> Nanoseconds {
        let value = self.bound * unit * (1.0 - TOLERANCE);
        if value.is_finite() && value > 0.0 { Nanoseconds(value.ceil() as u64) } else { Nanoseconds::ZERO }
    }
}

/// Steps of a budget that an iteration of the simplex method is worth, also with all that goes on around it in an
/// integer program, and a node of the solver's own branch and bound.
const ITERATION_STEPS: u64 = 50;
const INTEGER_ITERATION_STEPS: u64 = 500;
const NODE_STEPS: u64 = 50_000;

/// When the solver stops.
#[derive(Clone, Copy)]
pub(crate) enum Until<'a> {
    /// When it has done so much work, which it does the same everywhere.
    Spent(&'a Budget<'a>),
    /// When so much time is over.
    Over(Duration),
}

impl Until<'_> {
    fn limit(self, model: &mut Model) {
        let number = |most: u64| i32::try_from(most.max(1)).unwrap_or(i32::MAX);
        match self {
            Self::Spent(budget) => {
                model.set_option("simplex_iteration_limit", number(budget.left() / ITERATION_STEPS));
                model.set_option("mip_max_nodes", number(budget.left() / NODE_STEPS));
            }
            Self::Over(time) => model.set_option("time_limit", time.as_secs_f64().max(0.01)),
        }
    }

    /// Asks no more of the solver: who asks until the work is done would ask for ever.
    fn give_up(self) {
        if let Self::Spent(budget) = self {
            budget.spend(budget.left());
        }
    }

    fn spend(self, solved: &SolvedModel, has_integers: bool) {
        if let Self::Spent(budget) = self {
            let count = |name| u64::try_from(solved.int_info_value(name).unwrap_or(0)).unwrap_or(0);
            let nodes = count(c"mip_node_count").saturating_mul(NODE_STEPS);
            let each = if has_integers { INTEGER_ITERATION_STEPS } else { ITERATION_STEPS };
            budget.spend(nodes + count(c"simplex_iteration_count").saturating_mul(each));
        }
    }
}

/// Minimises a problem until the solver has to stop or the relative gap is reached.
pub(crate) fn minimise(
    problem: RowProblem,
    has_integers: bool,
    gap: f64,
    until: Until<'_>,
) -> Result<Solved, MappingError> {
    let mut model: Model = problem
        .try_optimise(Sense::Minimise)
        .map_err(|status| failed(format!("the model was refused ({status:?})")))?;
    model.make_quiet();
    minimise_again(model, has_integers, gap, until)
}

fn failed(detail: String) -> MappingError {
    MappingError::Solver { detail }
}

/// Whether the solver lost its way. All programs here have a solution, a mapping that is known; where a horizon leaves
/// next to no room beside it, rounding may deny that. It proves nothing then.
fn is_lost(status: HighsModelStatus) -> bool {
    matches!(status, HighsModelStatus::Infeasible | HighsModelStatus::UnboundedOrInfeasible | HighsModelStatus::Unknown)
}

/// Minimises a model that was solved before and has got more rows since: the solver begins with what it found then.
pub(crate) fn minimise_again(
    mut model: Model,
    has_integers: bool,
    gap: f64,
    until: Until<'_>,
) -> Result<Solved, MappingError> {
    until.limit(&mut model);
    model.set_option("mip_rel_gap", gap);
    model.set_option("threads", 1);
    model.set_option("random_seed", 1);
    // What it gives up on for reasons of its own proves nothing either. This was seen once, with a quantised transformer.
    let Ok(solved) = model.try_solve() else {
        until.give_up();
        return Ok(Solved::NOTHING);
    };
    until.spend(&solved, has_integers);
    let status = solved.status();
    let is_finished = status == HighsModelStatus::Optimal;
    let is_stopped = matches!(
        status,
        HighsModelStatus::ReachedTimeLimit
            | HighsModelStatus::ReachedIterationLimit
            | HighsModelStatus::ReachedSolutionLimit
    );
    if is_lost(status) {
        return Ok(Solved::NOTHING);
    }
    if !is_finished && !is_stopped {
        return Err(failed(format!("solving ended with {status:?}")));
    }

    let bound = if has_integers {
        solved.double_info_value(c"mip_dual_bound").unwrap_or(f64::NEG_INFINITY)
    } else if is_finished {
        solved.objective_value()
    } else {
        // A linear program that was not solved to the end proves nothing.
        f64::NEG_INFINITY
    };
    let columns = solved.get_solution().columns().to_vec();
    let has_solution = is_finished || solved.mip_gap().is_finite();
    Ok(Solved { values: has_solution.then_some(columns), bound, model: Some(solved) })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    /// A number from 1 to 2 of which three must be at least 4, and at most `most`.
    fn program(most: f64) -> RowProblem {
        let mut program = RowProblem::default();
        let column = program.add_column(1.0, 1.0..=2.0);
        program.add_row(4.0..=most, [(column, 3.0)]);
        program
    }

    #[test]
    fn a_program_without_a_solution_proves_nothing_and_ends_nothing() {
        let until = || Until::Over(Duration::from_secs(10));
        let solved = minimise(program(6.0), false, 0.0, until()).unwrap();
        assert!((solved.bound - 4.0 / 3.0).abs() < 1e-9 && solved.values.is_some());
        for has_integers in [false, true] {
            // What is always 0 would have to be 5.
            let mut denied = program(6.0);
            let column = denied.add_column(0.0, 0.0..=0.0);
            denied.add_row(5.0.., [(column, 1.0)]);
            let lost = minimise(denied, has_integers, 0.0, until()).unwrap();
            assert_eq!((lost.values.is_some(), lost.model.is_some()), (false, false));
            assert_eq!(lost.nanoseconds(1000.0), Nanoseconds::ZERO);
        }
    }
}
