//! The default mapper: heuristics from above and bounds from below, until they meet.

use millstream_cost::Nanoseconds;
use millstream_schedule::execution::TaskId;

use crate::bounds::PathBounds;
use crate::bounds::load::Loads;
use crate::error::MappingError;
use crate::mapper::Mapper;
use crate::mapper::budget::Budget;
use crate::mapper::limits::MapperLimits;
use crate::mapper::mapping::Mapping;
use crate::mapper::outcome::Outcome;
use crate::problem::MappingProblem;
use crate::problem::node_range::NodeRange;
use crate::quick::first_part;
use crate::search::annealing::anneal;
use crate::search::incumbent::{AnnealingSettings, Incumbent, finish};
use crate::search::local_search::{FIRST_TEMPERATURE, MOVES_PER_NODE, SHARE, improve, later_temperature};
use crate::search::starts::{LISTS, best_of};
use crate::series::Series;
use crate::{branch_and_bound, programs};

/// On larger problems, the first part, improving bounds, and the program each get at most this fraction of the steps:
/// one in so many. Annealing from the lists on takes half of all, so that none of their results is worse than that of
/// annealing alone with half of the steps.
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
/// they meet, the gap is small enough, or all steps are taken. Its result is never worse than those of
/// [`Heft`](crate::Heft), [`Cpop`](crate::Cpop), [`LayerSwitched`](crate::LayerSwitched) and
/// [`SingleProcessor`](crate::SingleProcessor), which it starts from; nor than that of the coarse program, unless the
/// requested gap was reached, the steps ran out or it was cancelled before that had its turn.
///
/// Without the feature `highs` there is neither the coarse program nor the relaxation. Searches are the same, but on
/// large problems that they don't finish the bound is lower, and so the gap is larger than it need be.
#[derive(Debug, Clone, Copy, Default)]
pub struct BoundedMapper;

impl Mapper for BoundedMapper {
    fn name(&self) -> &'static str {
        "bounded"
    }

    fn map(&self, problem: &MappingProblem, limits: &MapperLimits<'_>) -> Result<Mapping, MappingError> {
        let budget = Budget::start(limits);
        let mut bounds = PathBounds::new(problem);
        let is_small = problem.len() <= MOST_NODES_TO_THE_END;
        let part = budget.part(if is_small { limits.steps } else { limits.steps / PARTS });
        let (mut incumbent, mut lower) = first_part(problem, &mut bounds, limits, &part)?;
        budget.spend(part.spent());

        let mut longest = NodeRange::all(problem);
        if budget.reason(incumbent.makespan, lower).is_none() {
            let part = budget.part(limits.steps / PARTS);
            let series = strengthen(problem, &mut bounds, limits, &part)?;
            budget.spend(part.spent());
            lower = lower.max(bounds.critical);
            if let Some(series) = series {
                longest = series.longest();
                keep_if_shorter(problem, series.order(problem), &mut incumbent);
            }
        }

        if budget.reason(incumbent.makespan, lower).is_none() {
            let part = budget.part(limits.steps / PARTS);
            let relaxed = programs::bound(problem, &bounds, incumbent.makespan, limits.gap, &part)?;
            lower = lower.max(relaxed.bound);
            if let Some(order) = relaxed.order {
                search_from(problem, order, &mut incumbent, lower, &part);
            }
            budget.spend(part.spent());
        }

        // Also where the program, which can't be stopped anywhere, took more than its part: annealing alone with half
        // of the steps makes the same moves.
        let part =
            Budget::start(&MapperLimits { steps: if is_small { budget.left() } else { limits.steps } / 2, ..*limits });
        if part.reason(incumbent.makespan, lower).is_none()
            && let Some(start) = best_of(LISTS, problem, limits)
        {
            let alone = anneal(problem, start, lower, &part);
            budget.spend(part.spent());
            if alone.makespan < incumbent.makespan {
                incumbent = alone;
            }
        }

        search_on(problem, longest, &mut incumbent, &mut lower, &budget);
        let outcome = budget.reason(incumbent.makespan, lower).unwrap_or(Outcome::StepLimit);
        Ok(Mapping { steps: budget.spent(), ..finish(problem, incumbent, lower, outcome) })
    }
}

/// Puts into the bounds what loads say, and the parts that run one after the other, if there are any; these are
/// returned.
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

fn keep_if_shorter(problem: &MappingProblem, order: Option<Vec<Vec<TaskId>>>, incumbent: &mut Incumbent) {
    let makespan = order.as_ref().and_then(|order| problem.makespan(order));
    if let (Some(order), Some(makespan)) = (order, makespan)
        && makespan < incumbent.makespan
    {
        *incumbent = Incumbent { order, makespan };
    }
}

/// Searches near an order that need not be good itself: at a lower temperature, so that nodes stay where they are for
/// the most part.
fn search_from(
    problem: &MappingProblem,
    order: Vec<Vec<TaskId>>,
    incumbent: &mut Incumbent,
    lower: Nanoseconds,
    budget: &Budget<'_>,
) {
    let Some(makespan) = problem.makespan(&order) else { return };
    let mut near = Incumbent { order, makespan };
    for (seed, first_temperature) in [(0, FIRST_TEMPERATURE), (1, FIRST_TEMPERATURE / 3.0)] {
        let settings = AnnealingSettings {
            moves: MOVES_PER_NODE * problem.len(),
            share: 1,
            seed,
            nodes: NodeRange::all(problem),
            first_temperature,
        };
        near = improve(problem, &near, lower, &settings, budget);
    }
    if near.makespan < incumbent.makespan {
        *incumbent = near;
    }
}

/// As long as there is a gap and there are steps, other local searches go on from what is best, each longer than the
/// one before where there are steps for it; every other one leaves all but the longest part alone. After some of them,
/// branch and bound has a share of the steps.
fn search_on(
    problem: &MappingProblem,
    longest: NodeRange,
    incumbent: &mut Incumbent,
    lower: &mut Nanoseconds,
    budget: &Budget<'_>,
) {
    for seed in 1.. {
        let before = budget.left();
        if budget.reason(incumbent.makespan, *lower).is_some() {
            return;
        }
        let nodes = if seed % 2 == 1 { longest } else { NodeRange::all(problem) };
        let moves = MOVES_PER_NODE * nodes.len() * (1 + seed / 2).min(MOST_LONGER) as usize;
        // Annealing from the lists went before: the first one that moves all nodes begins hotter.
        let first_temperature = later_temperature(seed / 2);
        let settings = AnnealingSettings { moves, share: SHARE, seed, nodes, first_temperature };
        *incumbent = improve(problem, incumbent, *lower, &settings, budget);

        let states = MORE_STATES.min(budget.left() / STEPS_PER_STATE);
        if seed == RESTARTS && branch_and_bound::search(problem, incumbent, states, budget) {
            *lower = incumbent.makespan;
        }
        if budget.left() == before {
            return;
        }
    }
}
