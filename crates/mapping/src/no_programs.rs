//! What stands in for the integer programs where there is no solver: nothing to start from, and bounds that need none.

use millstream_cost::Nanoseconds;
use millstream_schedule::execution::TaskId;

use crate::bounds::{self, PathBounds};
use crate::error::MappingError;
use crate::mapper::Mapper;
use crate::mapper::budget::Budget;
use crate::problem::MappingProblem;

/// No program finds anything.
pub(crate) const STARTS: &[&dyn Mapper] = &[];

/// What the programs would say.
pub(crate) struct Relaxed {
    pub(crate) bound: Nanoseconds,
    pub(crate) order: Option<Vec<Vec<TaskId>>>,
}

/// The longest path, or all work at its fastest, spread evenly. It is often lower than what the relaxation proves.
pub(crate) fn bound(
    problem: &MappingProblem,
    _paths: &PathBounds,
    _horizon: Nanoseconds,
    _gap: f64,
    _budget: &Budget<'_>,
) -> Result<Relaxed, MappingError> {
    Ok(Relaxed { bound: bounds::quick_bound(problem), order: None })
}
