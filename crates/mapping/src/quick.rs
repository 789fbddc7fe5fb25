//! Mappings for which a short search must do.

use millstream_cost::Nanoseconds;

use crate::bounds::PathBounds;
use crate::bounds::load::{LEAST_NODES_FOR_LOADS, Loads};
use crate::error::MappingError;
use crate::mapper::Mapper;
use crate::mapper::budget::Budget;
use crate::mapper::limits::MapperLimits;
use crate::mapper::mapping::Mapping;
use crate::mapper::outcome::Outcome;
use crate::problem::MappingProblem;
use crate::problem::node_range::NodeRange;
use crate::search::incumbent::{AnnealingSettings, Incumbent, finish};
use crate::search::local_search::{FIRST_TEMPERATURE, improve};
use crate::search::starts::{LISTS, best_of};
use crate::{branch_and_bound, programs};

/// Moves of the first local search, per node.
const FIRST_MOVES_PER_NODE: usize = 400;
/// States of the first branch and bound, before the relaxation.
const FIRST_STATES: u64 = 300_000;

/// The first part of [`BoundedMapper`](crate::BoundedMapper), which takes a moment and settles most problems.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Quick;

impl Mapper for Quick {
    fn name(&self) -> &'static str {
        "quick"
    }

    fn map(&self, problem: &MappingProblem, limits: &MapperLimits<'_>) -> Result<Mapping, MappingError> {
        let budget = Budget::start(limits);
        let (incumbent, lower) = first_part(problem, &mut PathBounds::new(problem), limits, &budget)?;
        let outcome = budget.reason(incumbent.makespan, lower).unwrap_or(Outcome::Heuristic);
        Ok(Mapping { steps: budget.spent(), ..finish(problem, incumbent, lower, outcome) })
    }
}

/// List scheduling, a short local search, bounds, and a short branch and bound; the coarse program only if these leave
/// a gap. The best order and a lower bound.
pub(crate) fn first_part(
    problem: &MappingProblem,
    bounds: &mut PathBounds,
    limits: &MapperLimits<'_>,
    budget: &Budget<'_>,
) -> Result<(Incumbent, Nanoseconds), MappingError> {
    let mut lower = bounds.critical;

    // A program takes longer than all the rest: it has its turn where the others do not come to an end without it.
    let mut best: Option<Incumbent> = None;
    for mappers in [LISTS, programs::STARTS] {
        let Some(start) = best_of(mappers, problem, limits) else { continue };
        if best.as_ref().is_some_and(|best| best.makespan <= start.makespan) {
            continue;
        }
        let settings = AnnealingSettings {
            moves: FIRST_MOVES_PER_NODE * problem.len(),
            share: 1,
            seed: 0,
            nodes: NodeRange::all(problem),
            first_temperature: FIRST_TEMPERATURE,
        };
        let mut incumbent = improve(problem, &start, lower, &settings, budget);
        if problem.len() >= LEAST_NODES_FOR_LOADS && incumbent.makespan > lower {
            bounds.add_loads(problem, &Loads::new(problem));
            lower = lower.max(bounds.critical);
        }
        if budget.reason(incumbent.makespan, lower).is_none()
            && branch_and_bound::search(problem, &mut incumbent, FIRST_STATES, budget)
        {
            lower = incumbent.makespan;
        }
        let is_settled = budget.reason(incumbent.makespan, lower).is_some();
        if best.as_ref().is_none_or(|best| incumbent.makespan < best.makespan) {
            best = Some(incumbent);
        }
        if is_settled {
            break;
        }
    }

    let incumbent = best.ok_or(MappingError::NoMapping)?;
    Ok((incumbent, lower))
}
