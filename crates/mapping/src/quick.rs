//! Mappings for which a short search must do.

use crate::bounds::PathBounds;
use crate::found::{Course, Found, finish};
use crate::load::{LEAST_NODES_FOR_LOADS, Loads};
use crate::local_search::{HEAT, improve};
use crate::mapping::{Budget, Mapper, MapperLimits, Mapping, Outcome};
use crate::node_range::NodeRange;
use crate::starts::{LISTS, best_of};
use crate::{MappingError, MappingProblem, branch_and_bound, programs};

/// The first part of [`ExactMapper`](crate::ExactMapper), which takes a moment and settles most problems.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Quick;

impl Mapper for Quick {
    fn name(&self) -> &'static str {
        "quick"
    }

    fn map(&self, problem: &MappingProblem, limits: &MapperLimits<'_>) -> Result<Mapping, MappingError> {
        let budget = Budget::start(limits);
        let (found, lower) = quick(problem, &mut PathBounds::new(problem), limits, &budget)?;
        let outcome = budget.reason(found.makespan, lower).unwrap_or(Outcome::Heuristic);
        Ok(Mapping { steps: budget.spent(), ..finish(problem, found, lower, outcome) })
    }
}

pub(crate) fn quick(
    problem: &MappingProblem,
    bounds: &mut PathBounds,
    limits: &MapperLimits<'_>,
    budget: &Budget<'_>,
) -> Result<(Found, u64), MappingError> {
    let mut lower = bounds.critical;

    // A program takes longer than all the rest: it has its turn where the others do not come to an end without it.
    let mut best: Option<Found> = None;
    for mappers in [LISTS, programs::STARTS] {
        let Some(start) = best_of(mappers, problem, limits) else { continue };
        if best.as_ref().is_some_and(|best| best.makespan <= start.makespan) {
            continue;
        }
        let course =
            Course { moves: FIRST_MOVES_PER_NODE * problem.len(), seed: 0, nodes: NodeRange::all(problem), heat: HEAT };
        let mut found = improve(problem, &start, lower, &course, budget);
        if problem.len() >= LEAST_NODES_FOR_LOADS && found.makespan > lower {
            bounds.add_loads(problem, &Loads::new(problem));
            lower = lower.max(bounds.critical);
        }
        if budget.reason(found.makespan, lower).is_none()
            && branch_and_bound::search(problem, &mut found, FIRST_STATES, budget)
        {
            lower = found.makespan;
        }
        let is_settled = budget.reason(found.makespan, lower).is_some();
        if best.as_ref().is_none_or(|best| found.makespan < best.makespan) {
            best = Some(found);
        }
        if is_settled {
            break;
        }
    }

    let found = best.ok_or(MappingError::NoMapping)?;
    Ok((found, lower))
}

/// Moves of the first local search for each node.
pub(crate) const FIRST_MOVES_PER_NODE: usize = 400;

/// States of the branch and bound before and after the relaxation.
pub(crate) const FIRST_STATES: u64 = 300_000;
