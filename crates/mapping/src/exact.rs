use millstream_cost::Nanoseconds;

use crate::annealing::anneal;
use crate::bounds::PathBounds;
use crate::branch_and_bound;
use crate::cpop::Cpop;
use crate::heft::Heft;
use crate::layer_switched::LayerSwitched;
use crate::load::Loads;
use crate::local_search::{Course, Found, HEAT, MOVES_PER_NODE, improve};
use crate::mapping::{Budget, Mapper, MapperLimits, Mapping, Outcome, placement_of};
use crate::node_range::NodeRange;
use crate::series::Series;
use crate::single::SingleProcessor;
use crate::{MappingError, MappingProblem, TaskId, programs};

/// Moves of the first local search for each node.
const FIRST_MOVES_PER_NODE: usize = 400;
/// Of larger problems, the first part, improving bounds, and the program take one in so many of the steps each at the most. Annealing from the lists on takes half of all, so that
/// none of their results is worse than that of annealing alone with half of the steps.
const PARTS: u64 = 6;
/// Later local searches before the branch and bound, with different seeds.
const RESTARTS: u64 = 6;
/// With fewer nodes, branch and bound is done before better bounds are.
pub(crate) const LEAST_NODES_FOR_LOADS: usize = 16;
/// Nodes of problems that branch and bound often comes to the end of, so that it may take all steps.
const MOST_NODES_TO_THE_END: usize = 24;
/// States of the branch and bound before and after the relaxation.
const FIRST_STATES: u64 = 300_000;
const MORE_STATES: u64 = 20_000_000;
/// Of the steps that are left, the later branch and bound visits one state for so many.
const STEPS_PER_STATE: u64 = 48;
/// How many times as long as the first the later local searches become.
const MOST_LONGER: u64 = 8;

/// The default: list scheduling and local search from above, paths, a relaxation and branch and bound from below, until
/// they meet, the gap is small enough, or all steps are taken. Its result is never worse than those of [`Heft`], [`Cpop`],
/// [`LayerSwitched`], [`SingleProcessor`] and the coarse program, which it starts from.
///
/// Without the feature `highs` there is neither the coarse program nor the relaxation. Searches are the same, but on large problems
/// that they don't finish the bound is lower, and so the gap is larger than it need be.
#[derive(Debug, Clone, Copy, Default)]
pub struct ExactMapper;

/// The first part of [`ExactMapper`], which takes a moment and settles most problems.
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

/// The simple methods.
pub(crate) const LISTS: &[&dyn Mapper] = &[&Heft, &Cpop, &LayerSwitched, &SingleProcessor];

/// The best of what some methods find.
pub(crate) fn best_of(mappers: &[&dyn Mapper], problem: &MappingProblem, limits: &MapperLimits<'_>) -> Option<Found> {
    // A single processor need not support everything.
    let mappings = mappers.iter().filter_map(|mapper| mapper.map(problem, limits).ok());
    let best = mappings.min_by_key(|mapping| mapping.makespan)?;
    Some(Found { makespan: best.makespan.0, order: best.order })
}

pub(crate) fn finish(problem: &MappingProblem, found: Found, lower: u64, outcome: Outcome) -> Mapping {
    let placement = placement_of(problem.len(), &found.order);
    // Evaluated once more like every other mapping: searches may have left processors idle for nothing.
    let makespan = problem.makespan(&found.order).unwrap_or(Nanoseconds(found.makespan));
    Mapping { placement, order: found.order, makespan, lower_bound: Nanoseconds(lower), outcome, steps: 0 }
}
