//! What stands in for the integer programs where there is no solver: nothing to start from, and bounds that need none.

use crate::bounds::{self, PathBounds};
use crate::mapping::Budget;
use crate::{Mapper, MappingError, MappingProblem, TaskId};

/// No program finds anything.
pub(crate) const STARTS: &[&dyn Mapper] = &[];

/// What the programs would say.
pub(crate) struct Relaxed {
    pub(crate) bound: u64,
    pub(crate) order: Option<Vec<Vec<TaskId>>>,
}

/// The longest path, or all work at its fastest, spread evenly. It is often lower than what the relaxation proves.
pub(crate) fn bound(
    problem: &MappingProblem,
    _paths: &PathBounds,
    _horizon: u64,
    _gap: f64,
    _budget: &Budget<'_>,
) -> Result<Relaxed, MappingError> {
    Ok(Relaxed { bound: bounds::quick(problem), order: None })
}
