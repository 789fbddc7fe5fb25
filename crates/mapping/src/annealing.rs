use crate::bounds::quick;
use crate::found::{Course, Found, finish};
use crate::local_search::{HEAT, MOVES_PER_NODE, improve};
use crate::mapping::{Budget, Mapper, MapperLimits, Mapping, Outcome};
use crate::node_range::NodeRange;
use crate::starts::{LISTS, best_of};
use crate::{MappingError, MappingProblem};

/// Simulated annealing alone, from the best list on, again and again from what is best until all steps are taken: what [`ExactMapper`] is
/// measured beside.
///
/// [`ExactMapper`]: crate::ExactMapper
#[derive(Debug, Clone, Copy, Default)]
pub struct Annealing;

impl Mapper for Annealing {
    fn name(&self) -> &'static str {
        "annealing"
    }

    fn map(&self, problem: &MappingProblem, limits: &MapperLimits<'_>) -> Result<Mapping, MappingError> {
        let budget = Budget::start(limits);
        let lower = quick(problem);
        let start = best_of(LISTS, problem, limits).ok_or(MappingError::NoMapping)?;
        let found = anneal(problem, start, lower, &budget);
        let outcome = budget.reason(found.makespan, lower).unwrap_or(Outcome::Heuristic);
        Ok(Mapping { steps: budget.spent(), ..finish(problem, found, lower, outcome) })
    }
}

/// From the start on, again and again from what is best, until all steps are taken or the bound is reached.
pub(crate) fn anneal(problem: &MappingProblem, start: Found, lower: u64, budget: &Budget<'_>) -> Found {
    let mut found = start;
    for seed in 0.. {
        let before = budget.left();
        if budget.reason(found.makespan, lower).is_some() {
            break;
        }
        let course = Course { moves: MOVES_PER_NODE * problem.len(), seed, nodes: NodeRange::all(problem), heat: HEAT };
        found = improve(problem, &found, lower, &course, budget);
        if budget.left() == before {
            break;
        }
    }
    found
}
