//! Simulated annealing alone, as a baseline.

use millstream_cost::Nanoseconds;

use crate::bounds::quick_bound;
use crate::error::MappingError;
use crate::mapper::Mapper;
use crate::mapper::budget::Budget;
use crate::mapper::limits::MapperLimits;
use crate::mapper::mapping::Mapping;
use crate::mapper::outcome::Outcome;
use crate::problem::MappingProblem;
use crate::problem::node_range::NodeRange;
use crate::search::incumbent::{AnnealingSettings, Incumbent, finish};
use crate::search::local_search::{MOVES_PER_NODE, SHARE, improve, later_temperature};
use crate::search::starts::{LISTS, best_of};

/// Simulated annealing alone, from the best list on, again and again from what is best until all steps are taken: what
/// [`BoundedMapper`] is measured beside.
///
/// [`BoundedMapper`]: crate::BoundedMapper
#[derive(Debug, Clone, Copy, Default)]
pub struct Annealing;

impl Mapper for Annealing {
    fn name(&self) -> &'static str {
        "annealing"
    }

    fn map(&self, problem: &MappingProblem, limits: &MapperLimits<'_>) -> Result<Mapping, MappingError> {
        let budget = Budget::start(limits);
        let lower = quick_bound(problem);
        let start = best_of(LISTS, problem, limits).ok_or(MappingError::NoMapping)?;
        let incumbent = anneal(problem, start, lower, &budget);
        let outcome = budget.reason(incumbent.makespan, lower).unwrap_or(Outcome::Heuristic);
        Ok(Mapping { steps: budget.spent(), ..finish(problem, incumbent, lower, outcome) })
    }
}

/// From the start on, again and again from what is best, until all steps are taken or the bound is reached.
pub(crate) fn anneal(problem: &MappingProblem, start: Incumbent, lower: Nanoseconds, budget: &Budget<'_>) -> Incumbent {
    let mut incumbent = start;
    for seed in 0.. {
        let before = budget.left();
        if budget.reason(incumbent.makespan, lower).is_some() {
            break;
        }
        let settings = AnnealingSettings {
            moves: MOVES_PER_NODE * problem.len(),
            share: SHARE,
            seed,
            nodes: NodeRange::all(problem),
            first_temperature: later_temperature(seed),
        };
        incumbent = improve(problem, &incumbent, lower, &settings, budget);
        if budget.left() == before {
            break;
        }
    }
    incumbent
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    /// Whether they are a multiple of its nodes or not.
    #[test]
    fn all_steps_are_taken() {
        let row = |index: u64| vec![Some(Nanoseconds(100 + index * 37 % 91)), Some(Nanoseconds(150 + index * 53 % 77))];
        let names = (0..7).map(|index| format!("n{index}")).collect();
        let problem = MappingProblem::new(names, (0..7).map(row).collect(), Vec::new()).unwrap();
        for steps in [1, 6, 7, 8, 20_000, 400_003] {
            let mapping = Annealing.map(&problem, &MapperLimits { steps, ..MapperLimits::default() }).unwrap();
            assert_eq!(mapping.outcome, Outcome::StepLimit, "{steps}");
            assert!((steps..steps + 7).contains(&mapping.steps), "{} of {steps}", mapping.steps);
        }
    }
}
