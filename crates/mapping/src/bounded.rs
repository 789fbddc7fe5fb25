//! The default mapper: heuristics from above and bounds from below, until they meet.

use std::sync::atomic::{AtomicBool, Ordering};

use millstream_cost::Nanoseconds;
use millstream_schedule::execution::TaskId;

use crate::bounds::load::Loads;
use crate::bounds::{PathBounds, quick_bound};
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
use crate::side_by_side::side_by_side;
use crate::{branch_and_bound, programs};

/// On larger problems, the first part, improving bounds, and the program each get at most this fraction of the steps:
/// one in so many.
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
/// On problems of more than 24 nodes, [`Annealing`](crate::Annealing) has as many steps in a second thread, so that no
/// mapping is longer than what annealing alone finds, unless the requested gap was reached or the search was cancelled.
/// On smaller ones, which a short search settles for the most part, it has the steps that this leaves. Results do not
/// depend on which thread is faster.
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
        let search = if problem.len() > MOST_NODES_TO_THE_END {
            beside_annealing(problem, limits, || {
                let mut search = Search::begin(problem, limits, limits.steps / PARTS)?;
                search.go_on()?;
                Ok(search)
            })?
        } else {
            let mut search = Search::begin(problem, limits, limits.steps)?;
            if search.outcome().is_some() {
                search
            } else {
                let left = MapperLimits { steps: search.budget.left(), ..*limits };
                beside_annealing(problem, &left, || {
                    search.go_on()?;
                    Ok(search)
                })?
            }
        };
        let outcome = search.outcome().unwrap_or(Outcome::StepLimit);
        let Search { incumbent, lower, budget, .. } = search;
        Ok(Mapping { steps: budget.spent(), ..finish(problem, incumbent, lower, outcome) })
    }
}

/// Searches while a second thread anneals from the lists on with so many steps. What that finds counts where the search
/// leaves a gap: it is waited for, and takes the search's steps as well. Otherwise it stops wherever it is.
fn beside_annealing<'a>(
    problem: &MappingProblem,
    limits: &MapperLimits<'_>,
    search: impl FnOnce() -> Result<Search<'a>, MappingError>,
) -> Result<Search<'a>, MappingError> {
    let bound = quick_bound(problem);
    let is_unneeded = AtomicBool::new(false);
    let annealing = || {
        let budget = Budget::start(limits).unless(&is_unneeded);
        let annealed = best_of(LISTS, problem, limits).map(|start| anneal(problem, start, bound, &budget));
        (annealed, budget.spent())
    };
    let ((annealed, steps), searched) = side_by_side(annealing, || {
        let searched = search();
        let has_gap = searched.as_ref().is_ok_and(Search::has_gap);
        is_unneeded.store(!has_gap, Ordering::Relaxed);
        searched
    });

    let mut searched = searched?;
    if searched.has_gap() {
        let before = searched.limits.steps.saturating_sub(limits.steps);
        let taken = searched.budget.spent().saturating_sub(before);
        searched.budget.spend(steps.saturating_sub(taken));
        searched.lower = searched.lower.max(bound);
        if let Some(shorter) = annealed.filter(|annealed| annealed.makespan < searched.incumbent.makespan) {
            searched.incumbent = shorter;
        }
    }
    Ok(searched)
}

/// A search that has made its first mapping.
struct Search<'a> {
    problem: &'a MappingProblem,
    limits: &'a MapperLimits<'a>,
    budget: Budget<'a>,
    bounds: PathBounds,
    /// The longest of the parts that run one after the other.
    longest: NodeRange,
    incumbent: Incumbent,
    lower: Nanoseconds,
}

impl<'a> Search<'a> {
    /// The first part, of so many steps at the most.
    fn begin(problem: &'a MappingProblem, limits: &'a MapperLimits<'a>, steps: u64) -> Result<Self, MappingError> {
        let budget = Budget::start(limits);
        let mut bounds = PathBounds::new(problem);
        let part = budget.part(steps);
        let (incumbent, lower) = first_part(problem, &mut bounds, limits, &part)?;
        budget.spend(part.spent());
        Ok(Self { problem, limits, budget, bounds, longest: NodeRange::all(problem), incumbent, lower })
    }

    /// Why to stop now, if there is a reason.
    fn outcome(&self) -> Option<Outcome> {
        self.budget.reason(self.incumbent.makespan, self.lower)
    }

    /// Whether a shorter mapping would be of use.
    fn has_gap(&self) -> bool {
        !matches!(self.outcome(), Some(Outcome::Optimal | Outcome::GapReached))
    }

    /// All other parts, until there is a reason to stop.
    fn go_on(&mut self) -> Result<(), MappingError> {
        if self.outcome().is_none() {
            self.meet_from_below()?;
            self.search_on();
        }
        Ok(())
    }

    /// Bounds and programs, which say how short no mapping is; and mappings near those that they suggest.
    fn meet_from_below(&mut self) -> Result<(), MappingError> {
        let (problem, limits) = (self.problem, self.limits);
        let part = self.budget.part(limits.steps / PARTS);
        let series = strengthen(problem, &mut self.bounds, limits, &part)?;
        self.budget.spend(part.spent());
        self.lower = self.lower.max(self.bounds.critical);
        if let Some(series) = series {
            self.longest = series.longest();
            keep_if_shorter(problem, series.order(problem), &mut self.incumbent);
        }
        if self.outcome().is_some() {
            return Ok(());
        }

        let part = self.budget.part(limits.steps / PARTS);
        let relaxed = programs::bound(problem, &self.bounds, self.incumbent.makespan, limits.gap, &part)?;
        self.lower = self.lower.max(relaxed.bound);
        if let Some(order) = relaxed.order {
            search_from(problem, order, &mut self.incumbent, self.lower, &part);
        }
        self.budget.spend(part.spent());
        Ok(())
    }

    /// As long as there is a gap and there are steps, other local searches go on from what is best, each longer than
    /// the one before where there are steps for it; every other one leaves all but the longest part alone. After some
    /// of them, branch and bound has a share of the steps.
    fn search_on(&mut self) {
        let (problem, budget) = (self.problem, &self.budget);
        for seed in 1.. {
            let before = budget.left();
            if budget.reason(self.incumbent.makespan, self.lower).is_some() {
                return;
            }
            let nodes = if seed % 2 == 1 { self.longest } else { NodeRange::all(problem) };
            let moves = MOVES_PER_NODE * nodes.len() * (1 + seed / 2).min(MOST_LONGER) as usize;
            // Annealing from the lists went before, in the first part: that of all nodes begins hotter.
            let first_temperature = later_temperature(seed / 2);
            let settings = AnnealingSettings { moves, share: SHARE, seed, nodes, first_temperature };
            self.incumbent = improve(problem, &self.incumbent, self.lower, &settings, budget);

            let states = MORE_STATES.min(budget.left() / STEPS_PER_STATE);
            if seed == RESTARTS && branch_and_bound::search(problem, &mut self.incumbent, states, budget) {
                self.lower = self.incumbent.makespan;
            }
            if budget.left() == before {
                return;
            }
        }
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
