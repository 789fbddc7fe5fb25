use millstream_cost::Nanoseconds;

use crate::annealing::anneal;
use crate::bounds::PathBounds;
use crate::found::{Course, Found, finish};
use crate::load::Loads;
use crate::local_search::{HEAT, MOVES_PER_NODE, improve};
use crate::mapping::{Budget, Mapper, MapperLimits, Mapping, Outcome};
use crate::node_range::NodeRange;
use crate::quick::quick;
use crate::series::Series;
use crate::starts::{LISTS, best_of};
use crate::{MappingError, MappingProblem, TaskId, branch_and_bound, programs};

/// Of larger problems, the first part, improving bounds, and the program take one in so many of the steps each at the most. Annealing from the lists on takes half of all, so that
/// none of their results is worse than that of annealing alone with half of the steps.
const PARTS: u64 = 6;
/// Later local searches before the branch and bound, with different seeds.
const RESTARTS: u64 = 6;
/// Nodes of problems that branch and bound often comes to the end of, so that it may take all steps.
const MOST_NODES_TO_THE_END: usize = 24;
const MORE_STATES: u64 = 20_000_000;
/// Of the steps that are left, the later branch and bound visits one state for so many.
const STEPS_PER_STATE: u64 = 48;
/// How many times as long as the first the later local searches become.
const MOST_LONGER: u64 = 8;

/// The default: list scheduling and local search from above, paths, a relaxation and branch and bound from below, until
/// they meet, the gap is small enough, or all steps are taken. Its result is never worse than those of [`Heft`](crate::Heft), [`Cpop`](crate::Cpop),
/// [`LayerSwitched`](crate::LayerSwitched), [`SingleProcessor`](crate::SingleProcessor) and the coarse program, which it starts from.
///
/// Without the feature `highs` there is neither the coarse program nor the relaxation. Searches are the same, but on large problems
/// that they don't finish the bound is lower, and so the gap is larger than it need be.
#[derive(Debug, Clone, Copy, Default)]
pub struct ExactMapper;

impl Mapper for ExactMapper {
    fn name(&self) -> &'static str {
        "exact"
    }

    fn map(&self, problem: &MappingProblem, limits: &MapperLimits<'_>) -> Result<Mapping, MappingError> {
        let budget = Budget::start(limits);
        let mut bounds = PathBounds::new(problem);
        let is_small = problem.len() <= MOST_NODES_TO_THE_END;
        let part = budget.part(if is_small { limits.steps } else { limits.steps / PARTS });
        let (mut found, mut lower) = quick(problem, &mut bounds, limits, &part)?;
        budget.spend(part.spent());
        let mut longest = NodeRange::all(problem);
        if budget.reason(found.makespan, lower).is_none() {
            let part = budget.part(limits.steps / PARTS);
            let series = strengthen(problem, &mut bounds, limits, &part)?;
            budget.spend(part.spent());
            lower = lower.max(bounds.critical);
            if let Some(series) = series {
                longest = series.longest();
                keep_if_shorter(problem, series.order(problem), &mut found);
            }
        }

        if budget.reason(found.makespan, lower).is_none() {
            let part = budget.part(limits.steps / PARTS);
            let relaxed = programs::bound(problem, &bounds, found.makespan, limits.gap, &part)?;
            lower = lower.max(relaxed.bound);
            if let Some(order) = relaxed.order {
                search_from(problem, order, &mut found, lower, &part);
            }
            budget.spend(part.spent());
        }

        // Also where the program, which can't be stopped anywhere, took more than its part.
        let part =
            Budget::start(&MapperLimits { steps: if is_small { budget.left() } else { limits.steps } / 2, ..*limits });
        if part.reason(found.makespan, lower).is_none()
            && let Some(start) = best_of(LISTS, problem, limits)
        {
            let alone = anneal(problem, start, lower, &part);
            budget.spend(part.spent());
            if alone.makespan < found.makespan {
                found = alone;
            }
        }
        search_on(problem, longest, &mut found, &mut lower, &budget);
        let outcome = budget.reason(found.makespan, lower).unwrap_or(Outcome::StepLimit);
        Ok(Mapping { steps: budget.spent(), ..finish(problem, found, lower, outcome) })
    }
}

/// Puts into the bounds what loads say, and the parts that run one after the other, if there are any; these are returned.
fn strengthen(
    problem: &MappingProblem,
    bounds: &mut PathBounds,
    limits: &MapperLimits<'_>,
    budget: &Budget<'_>,
) -> Result<Option<Series>, MappingError> {
    if budget.left() == 0 {
        return Ok(None);
    }
    let loads = Loads::new(problem);
    bounds.add_loads(problem, &loads);
    budget.spend(loads.steps());
    let series = Series::solve(problem, limits, budget)?;
    if let Some(series) = &series {
        series.raise(problem, bounds);
        bounds.add_loads(problem, &loads);
        budget.spend(loads.steps());
    }
    Ok(series)
}

fn keep_if_shorter(problem: &MappingProblem, order: Option<Vec<Vec<TaskId>>>, found: &mut Found) {
    let makespan = order.as_ref().and_then(|order| problem.makespan(order));
    if let (Some(order), Some(Nanoseconds(makespan))) = (order, makespan)
        && makespan < found.makespan
    {
        *found = Found { order, makespan };
    }
}

/// Searches near an order that need not be good itself: at less heat, so that nodes stay where they are for the most part.
fn search_from(problem: &MappingProblem, order: Vec<Vec<TaskId>>, found: &mut Found, lower: u64, budget: &Budget<'_>) {
    let Some(Nanoseconds(makespan)) = problem.makespan(&order) else { return };
    let mut own = Found { order, makespan };
    for (seed, heat) in [(0, HEAT), (1, HEAT / 3.0)] {
        let course = Course { moves: MOVES_PER_NODE * problem.len(), seed, nodes: NodeRange::all(problem), heat };
        own = improve(problem, &own, lower, &course, budget);
    }
    if own.makespan < found.makespan {
        *found = own;
    }
}

/// As long as there is a gap and there are steps, other local searches go on from what is best, each longer than the one before; every
/// other one leaves all but the longest part alone. After some of them, branch and bound has a share of the steps.
fn search_on(problem: &MappingProblem, longest: NodeRange, found: &mut Found, lower: &mut u64, budget: &Budget<'_>) {
    for seed in 1.. {
        let before = budget.left();
        if budget.reason(found.makespan, *lower).is_some() {
            return;
        }
        let nodes = if seed % 2 == 1 { longest } else { NodeRange::all(problem) };
        let moves = MOVES_PER_NODE * nodes.len() * (1 + seed / 2).min(MOST_LONGER) as usize;
        *found = improve(problem, found, *lower, &Course { moves, seed, nodes, heat: HEAT }, budget);
        let states = MORE_STATES.min(budget.left() / STEPS_PER_STATE);
        if seed == RESTARTS && branch_and_bound::search(problem, found, states, budget) {
            *lower = found.makespan;
        }
        if budget.left() == before {
            return;
        }
    }
}
