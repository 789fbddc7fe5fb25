//! From costs to plans: the search.

use std::sync::atomic::{AtomicBool, Ordering};

use millstream_board::Board;
use millstream_cost::{CostTable, Nanoseconds};
use millstream_mapping::side_by_side;
use millstream_pipeline::{
    Constraints, Effort, PeriodBound, PipelineError, Plan, PlansWithinMemory, Problem, ProblemInputs, TeamSpace,
    ThroughputBound, best_period, energy_front_within_memory, pareto_front_within_memory,
};
use millstream_sim::SteadyState;

use crate::control::Control;
use crate::error::Error;
use crate::network::Network;
use crate::plans::aim::Aim;
use crate::plans::lessons::{Lessons, TeamLessons};
use crate::plans::other_drivers::report_other_drivers;
use crate::plans::shared_memory::{ModestPlans, SharedMemory, simulated};
use crate::plans::timed::with_what_has_times;
use crate::plans::{Plans, ProvenSearch};

/// How much more energy than necessary a plan may cost, as a part of that.
pub(crate) const ENERGY_TOLERANCE: f64 = 0.01;

/// What a search starts from.
#[derive(Clone, Copy)]
pub(crate) struct SearchInputs<'a> {
    pub(crate) network: &'a Network,
    pub(crate) board: &'a Board,
    pub(crate) table: &'a CostTable,
}

impl Plans {
    /// Searches on given costs.
    ///
    /// # Errors
    /// [`Error::Pipeline`] if nothing keeps to the constraints, [`Error::Interrupted`] if the caller ended the search.
    pub fn search(
        network: &Network,
        board: &Board,
        table: &CostTable,
        aim: Aim,
        control: &Control,
    ) -> Result<Self, Error> {
        let table = table.clone().with_one_driver_of_each_device(board, &[]);
        report_other_drivers(board, &table, control);
        let inputs = SearchInputs { network, board, table: &table };
        let plans = Self::search_again(inputs, aim, Lessons::default(), control);
        control.end(&activity(network));
        if control.is_cancelled() {
            return Err(Error::Interrupted);
        }
        let plans = plans?;
        plans.aim.limits().among(&plans.front)?;
        Ok(plans)
    }

    /// Searches with what trials have shown.
    pub(crate) fn search_again(
        SearchInputs { network, board, table }: SearchInputs<'_>,
        aim: Aim,
        mut lessons: Lessons,
        control: &Control,
    ) -> Result<Self, Error> {
        let memory = SharedMemory::new(network, board, table);
        let board = &with_what_has_times(board, table);
        let within_memory = table.within_memory_of(board, network.graph());
        let inputs = SearchInputs { network, board, table: &within_memory };
        let space = TeamSpace::of(board);
        let by_costs = problem_with_teams(inputs, space, aim.effort)?;
        let (name, watcher) = (activity(network), control.clone());
        let problem =
            with_lessons(by_costs.clone(), inputs, space, aim.effort, &lessons)?.with_progress(move |progress| {
                watcher.searching(&name, progress);
                !watcher.is_cancelled()
            });

        // Teams that the search evaluates do not change a bound.
        let has_failed = AtomicBool::new(false);
        let should_stop = || has_failed.load(Ordering::Relaxed) || control.is_cancelled();
        let costs = SearchInputs { network, board, table };
        let (bounds, searched) = side_by_side(
            || BoundsAndModestPlans::of(costs, &by_costs, memory.as_ref(), &should_stop),
            || {
                SearchResult::of(&problem, &aim, !lessons.tried.is_empty(), memory.is_some())
                    .inspect_err(|_| has_failed.store(true, Ordering::Relaxed))
            },
        );
        let BoundsAndModestPlans { period_bound, bound, modest } = bounds?;
        let SearchResult { best_on_single_processors, plans: PlansWithinMemory { mut plans, is_whole } } = searched?;
        let competes_for_memory = memory.is_some();
        if let Some(memory) = memory {
            plans = memory.simulated_front(&problem, plans, modest, &aim)?;
            // Of few frames, a simulation may show a little less than what is possible.
            plans.iter_mut().for_each(|plan| plan.period = plan.period.max(bound.period));
        }
        let shares_links = !competes_for_memory && simulate_shared_links(network, table, &problem, &mut plans)?;

        plans.retain(|plan| lessons.leave_open(plan));
        // What was measured of a plan changes its energy as well.
        lessons.tried.iter_mut().for_each(|plan| plan.energy = problem.energy(plan));
        plans.extend_from_slice(&lessons.tried);
        let front = if aim.wants_energy { Plan::undominated_with_energy(plans) } else { Plan::undominated(plans) };

        Ok(Self {
            front,
            lessons,
            problem,
            table: table.clone(),
            bound,
            best_on_single_processors,
            searched: ProvenSearch { by_costs, bound: period_bound, teams: space },
            is_simulated: competes_for_memory || shares_links,
            is_whole,
            competes_for_memory,
            aim,
        })
    }
}

/// What a search finds of its own.
struct SearchResult {
    best_on_single_processors: Option<Nanoseconds>,
    plans: PlansWithinMemory,
}

impl SearchResult {
    fn of(problem: &Problem, aim: &Aim, is_tried: bool, competes_for_memory: bool) -> Result<Self, PipelineError> {
        // This fills the cache of stages' options that the search uses.
        let best_on_single_processors = best_on_single_processors(problem);
        let plans = searched_plans(problem, aim, is_tried, competes_for_memory)?;
        Ok(Self { best_on_single_processors, plans })
    }
}

/// What does not depend on the search, and is found while that goes on.
struct BoundsAndModestPlans {
    period_bound: PeriodBound,
    bound: ThroughputBound,
    /// Plans that may be good where processors wait for the memory that they share.
    modest: ModestPlans,
}

impl BoundsAndModestPlans {
    fn of(
        SearchInputs { network, board, table }: SearchInputs<'_>,
        by_costs: &Problem,
        memory: Option<&SharedMemory<'_>>,
        should_stop: &dyn Fn() -> bool,
    ) -> Result<Self, Error> {
        Ok(Self {
            period_bound: PeriodBound::of(by_costs)?,
            bound: ThroughputBound::of(network.graph(), board, table),
            modest: memory.map_or_else(|| Ok(ModestPlans::default()), |memory| memory.modest_plans(should_stop))?,
        })
    }
}

/// What is searched without what trials have shown.
fn problem_with_teams(
    SearchInputs { network, board, table }: SearchInputs<'_>,
    space: TeamSpace,
    effort: Effort,
) -> Result<Problem, PipelineError> {
    let inputs = ProblemInputs { graph: network.graph(), chain: network.chain(), board, table };
    Problem::with_teams_and_effort(inputs, &space.teams(board), effort)
}

/// The same with what trials have shown of teams.
fn with_lessons(
    by_costs: Problem,
    inputs: SearchInputs<'_>,
    space: TeamSpace,
    effort: Effort,
    lessons: &Lessons,
) -> Result<Problem, PipelineError> {
    let SearchInputs { network, table, .. } = inputs;
    let TeamLessons { late_by, factors } = lessons.of_teams(network.graph(), table);
    let mut searched = match late_by {
        Nanoseconds::ZERO => by_costs,
        late_by => {
            let table = &table.clone().with_longer_transfers(late_by);
            problem_with_teams(SearchInputs { table, ..inputs }, space, effort)?
        }
    };
    factors.iter().for_each(|(team, factor)| searched.scale_team(team, *factor));
    Ok(searched)
}

/// The shortest period on single processors, if stages and replicas reach it with what they take over links together,
/// and the memory has room for it.
fn best_on_single_processors(problem: &Problem) -> Option<Nanoseconds> {
    let singles = problem.clone().without_teams().without_memory_limit();
    let best = best_period(&singles).ok()?;
    // What stages take over the same link together is in its period and not in the bound, and what replicas wait there
    // for each other in neither.
    let is_exact = problem.has_room_for(&best)
        && !singles.shares_links(&best)
        && (!singles.has_links() || PeriodBound::of(&singles) == Ok(PeriodBound(best.period)));
    is_exact.then_some(best.period)
}

/// What a search finds. Where nothing keeps to the constraints by what it knows, but trials or waiting for memory tell
/// better, all that is good without constraints.
fn searched_plans(
    problem: &Problem,
    aim: &Aim,
    is_tried: bool,
    competes_for_memory: bool,
) -> Result<PlansWithinMemory, PipelineError> {
    if !aim.wants_energy {
        return pareto_front_within_memory(problem);
    }
    energy_front_within_memory(problem, &aim.limits(), ENERGY_TOLERANCE).or_else(|error| {
        let is_of_limits = matches!(error, PipelineError::Constraint { .. } | PipelineError::Power { .. });
        if is_tried || (is_of_limits && competes_for_memory) {
            energy_front_within_memory(problem, &Constraints::default(), ENERGY_TOLERANCE)
        } else {
            Err(error)
        }
    })
}

/// Gives plans whose stages or replicas wait for the same link the numbers that a simulation shows. Returns whether
/// there are any.
fn simulate_shared_links(
    network: &Network,
    table: &CostTable,
    problem: &Problem,
    plans: &mut [Plan],
) -> Result<bool, Error> {
    let mut has_any = false;
    for plan in plans.iter_mut().filter(|plan| problem.shares_links(plan)) {
        has_any = true;
        *plan = simulated(plan, &problem.schedule(plan), network, table, None, SteadyState::FRAMES)?;
    }
    Ok(has_any)
}

/// What a search is called.
fn activity(network: &Network) -> String {
    format!("searching for schedules of {}", network.name())
}
