//! HiGHS, as far as mappers need it.

use highs::{HighsModelStatus, Model, RowProblem, Sense};

use crate::MappingError;
use crate::mapping::Clock;

/// The solver is exact up to this, relatively.
const TOLERANCE: f64 = 3e-6;

/// What a solver returned.
pub(crate) struct Solved {
    /// Values of the columns; `None` if no solution was found.
    pub(crate) values: Option<Vec<f64>>,
    /// No solution has a smaller objective.
    pub(crate) bound: f64,
}

impl Solved {
    /// The bound as a true one in whole nanoseconds, `unit` of which are one in the program: every makespan is a whole
    /// number.
    pub(crate) fn nanoseconds(&self, unit: f64) -> u64 {
        let value = self.bound * unit * (1.0 - TOLERANCE);
        if value.is_finite() && value > 0.0 { value.ceil() as u64 } else { 0 }
    }
}

/// Minimises a problem until the clock is over or the relative gap is reached.
pub(crate) fn minimise(
    problem: RowProblem,
    has_integers: bool,
    gap: f64,
    clock: &Clock<'_>,
) -> Result<Solved, MappingError> {
    let failed = |detail: String| MappingError::Solver { detail };
    let mut model: Model = problem
        .try_optimise(Sense::Minimise)
        .map_err(|status| failed(format!("the model was refused ({status:?})")))?;
    model.make_quiet();
    model.set_option("time_limit", clock.left().as_secs_f64().max(0.01));
    model.set_option("mip_rel_gap", gap);
    model.set_option("threads", 1);
    model.set_option("random_seed", 1);
    let solved = model.try_solve().map_err(|status| failed(format!("solving ended with {status:?}")))?;
    let status = solved.status();
    let is_finished = status == HighsModelStatus::Optimal;
    if !is_finished && status != HighsModelStatus::ReachedTimeLimit {
        return Err(failed(format!("solving ended with {status:?}")));
    }
    let bound = match has_integers {
        true => solved.double_info_value(c"mip_dual_bound").unwrap_or(f64::NEG_INFINITY),
        // A linear program that was not solved to the end proves nothing.
        false if is_finished => solved.objective_value(),
        false => f64::NEG_INFINITY,
    };
    let columns = solved.get_solution().columns().to_vec();
    let has_solution = is_finished || solved.mip_gap().is_finite();
    Ok(Solved { values: has_solution.then_some(columns), bound })
}
