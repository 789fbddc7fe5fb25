//! From costs to plans: the search, and what is chosen from its front.

use millstream_board::{Board, Cluster, EngineSet, ProcessorClass};
use millstream_cost::{CostTable, Nanoseconds, PowerOrigin};
use millstream_pipeline::{
    Constraints, Nanojoules, Objective, PeriodBound, PipelineError, Plan, Problem, TeamSpace, ThroughputBound,
    best_period, choose, energy_front, pareto_front,
};
use millstream_schedule::{Prediction, Schedule, ScheduleDocument, SearchedBound};
use millstream_sim::SteadyState;

use crate::document::document;
use crate::lessons::{Lessons, TeamLessons};
use crate::shared_memory::{SharedMemory, simulated};
use crate::{Aim, Control, Error, Network};

/// How much more energy than necessary a plan may cost.
pub(crate) const ENERGY_TOLERANCE: f64 = 0.01;

/// What a search found for a network on a board.
pub struct Plans {
    /// The search's problem.
    pub problem: Problem,
    /// The plans that no other beats, in period, latency and, if it was asked for, energy. What was tried has the numbers that it was
    /// seen to have.
    pub front: Vec<Plan>,
    /// The costs that were searched on.
    pub table: CostTable,
    /// What no schedule on the board goes below under these costs.
    pub bound: ThroughputBound,
    /// The shortest period of all pipelines whose stages run on one processor each, or on replicas of it, under these costs: exact where
    /// memory's bandwidth limits nothing, and not above it where it does. `None` if some stage needs several, if the memory has no
    /// room for it, or if its stages or replicas wait for the same link, so that it takes longer.
    pub best_on_single_processors: Option<Nanoseconds>,
    /// A period that no pipeline of the searched stages goes below, and which teams these may run on.
    pub searched: (PeriodBound, TeamSpace),
    /// Whether processors compete for the memory's bandwidth, so that plans' numbers are simulated.
    pub competes_for_memory: bool,
    /// Whether some plans' numbers are simulated: for the sake of memory, or because several of their stages, or replicas of one, wait for the same link.
    pub is_simulated: bool,
    /// What was asked for.
    pub aim: Aim,
    pub(crate) lessons: Lessons,
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
        let plans = Self::search_again((network, board, table), aim, Lessons::default(), control);
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
        (network, board, table): (&Network, &Board, &CostTable),
        aim: Aim,
        mut lessons: Lessons,
        control: &Control,
    ) -> Result<Self, Error> {
        let memory = SharedMemory::new(network, board, table);
        let board = &with_timed_engines(board, table);
        let searched = table.within_memory_of(board, network.graph());
        let space = TeamSpace::of(board);
        let (mut problem, searched_bound) = searched_problem((network, board, &searched), space, aim, &lessons)?;
        let (name, watcher) = (activity(network), control.clone());
        problem = problem.watched(move |progress| {
            watcher.searching(&name, progress);
            !watcher.is_cancelled()
        });
        let bound = ThroughputBound::of(network.graph(), board, table);
        let searched = (searched_bound, space);
        let singles = problem.clone().without_teams().without_memory_limit();
        // What stages take over the same link together is in its period and not in the bound, and what replicas wait there for each other in neither.
        let is_exact = |plan: &Plan| {
            problem.has_room_for(plan)
                && !singles.shares_links(plan)
                && (!singles.has_links() || PeriodBound::of(&singles) == Ok(PeriodBound(plan.period)))
        };
        let single = best_period(&singles).ok().filter(is_exact);
        let best_on_single_processors = single.map(|plan| plan.period);

        let competes_for_memory = memory.is_some();
        let mut plans = searched_plans(&problem, &aim, !lessons.tried.is_empty(), competes_for_memory)?;
        if let Some(memory) = memory {
            plans = memory.simulated_front(&problem, plans, &aim)?;
            // Of few frames, a simulation may show a little less than what is possible.
            plans.iter_mut().for_each(|plan| plan.period = plan.period.max(bound.period));
        }
        let shares_links = !competes_for_memory && simulate_shared_links((network, table), &problem, &mut plans)?;
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
            searched,
            is_simulated: competes_for_memory || shares_links,
            competes_for_memory,
            aim,
        })
    }

    /// The plan for an objective: among those that were tried, if any were.
    ///
    /// # Errors
    /// [`Error::Pipeline`] if nothing that is left keeps to the constraints.
    pub fn chosen(&self, objective: Objective) -> Result<&Plan, Error> {
        let tried = self.allowed(&self.lessons.tried);
        let plans = if tried.is_empty() { self.allowed(&self.front) } else { tried };
        if let Some(plan) = choose(&plans, objective).and_then(|index| plans.get(index)) {
            return Ok(plan);
        }
        // What was tried may have turned out not to keep to the constraints.
        self.aim.limits().among(&self.front)?;
        Err(Error::Incomplete { what: "plan to choose from" })
    }

    /// The plan on the front that is best for an objective, tried or not.
    pub fn best_on_front(&self, objective: Objective) -> Option<&Plan> {
        let plans = self.allowed(&self.front);
        choose(&plans, objective).and_then(|index| plans.get(index).copied())
    }

    /// The plans of the front from the quickest on, each with the objectives that it is best for, and the plan that was chosen for an
    /// objective even where something untried is predicted to be better still.
    pub fn front_with_best<'a>(&'a self, chosen: &'a Plan, objective: Objective) -> Vec<(&'a Plan, Vec<Objective>)> {
        let mut shown: Vec<&Plan> = self.front.iter().collect();
        if !shown.iter().any(|plan| plan.is_same_pipeline(chosen)) {
            shown.push(chosen);
        }
        shown.sort_by_key(|plan| (plan.latency, std::cmp::Reverse(plan.period)));
        let has_energy = shown.iter().all(|plan| plan.energy.is_some());
        let others = Objective::ALL.into_iter().filter(|&other| other != objective);
        let others = others.filter(|&other| other != Objective::Energy || has_energy);
        let mut best: Vec<(&Plan, Objective)> =
            others.filter_map(|other| Some((self.best_on_front(other)?, other))).collect();
        best.push((chosen, objective));
        let best_for = |plan: &Plan| {
            best.iter().filter(|(own, _)| own.is_same_pipeline(plan)).map(|(_, objective)| *objective).collect()
        };
        shown.into_iter().map(|plan| (plan, best_for(plan))).collect()
    }

    /// The plans that keep to the constraints.
    pub(crate) fn allowed<'a>(&self, plans: &'a [Plan]) -> Vec<&'a Plan> {
        let limits = self.aim.limits();
        plans.iter().filter(|plan| limits.allow(plan)).collect()
    }

    /// Clusters and accelerators of a schedule whose idle power is not known, so that energy counts it as nothing.
    pub fn without_idle_power(&self, schedule: &Schedule) -> Vec<String> {
        let is_unknown = |class: &ProcessorClass| {
            let power = self.table.find(class).and_then(|processor| self.table.power(processor));
            power.is_some_and(|power| power.origin == PowerOrigin::PublishedAtWork)
        };
        let classes = schedule.processors().map(|processor| processor.class()).filter(is_unknown);
        let mut labels: Vec<String> = classes.map(|class| class.cluster).collect();
        labels.sort();
        labels.dedup();
        labels
    }

    /// What the search has proven of everything that it went through.
    fn searched_bound(&self) -> SearchedBound {
        let (PeriodBound(period), space) = self.searched;
        let alone = if self.problem.has_links() {
            " (which have no replicas beside them in a stage whose inputs would occupy a link to one of their clusters)"
        } else {
            ""
        };
        let on_teams = || {
            format!(
                ", or of whole subgraphs on {space}{alone} that run one subgraph after the other or share rows of several"
            )
        };
        let teams = if space.most_processors > 0 { on_teams() } else { String::new() };
        let space = format!("contiguous stages of whole blocks on single processors{teams}, and replicas of these");
        SearchedBound { period_seconds: period.seconds(), space }
    }

    /// The schedule of a plan, and its file.
    pub fn document(
        &self,
        plan: &Plan,
        objective: Objective,
        network: &Network,
        board: &Board,
    ) -> (Schedule, ScheduleDocument) {
        let schedule = self.problem.schedule(plan);
        let predicted = Prediction {
            period_seconds: plan.period.seconds(),
            latency_seconds: plan.latency.seconds(),
            is_measured: !self.lessons.tried.is_empty(),
            lower_bound_period_seconds: self.bound.period.seconds(),
            searched: Some(self.searched_bound()),
            replica_seconds: replica_seconds(plan),
            joules_per_frame: plan.energy.map(Nanojoules::joules),
            watts: plan.watts(),
        };
        let algorithm = algorithm(self.problem.has_teams(), self.is_simulated);
        let document = document(&schedule, predicted, algorithm, objective, network, board);
        (schedule, ScheduleDocument { constraints: self.aim.stated(), ..document })
    }
}

/// Per stage of a plan, the time of each replica for a frame.
pub(crate) fn replica_seconds(plan: &Plan) -> Vec<Vec<f64>> {
    plan.stages.iter().map(|stage| stage.times().iter().map(|time| time.seconds()).collect()).collect()
}

/// What a search finds. Where nothing keeps to the constraints by what it knows, but trials or waiting for memory tell better, all that is
/// good without constraints.
fn searched_plans(
    problem: &Problem,
    aim: &Aim,
    is_tried: bool,
    competes_for_memory: bool,
) -> Result<Vec<Plan>, PipelineError> {
    if !aim.wants_energy {
        return pareto_front(problem);
    }
    energy_front(problem, &aim.limits(), ENERGY_TOLERANCE).or_else(|error| {
        let is_of_limits = matches!(error, PipelineError::Constraint { .. } | PipelineError::Power { .. });
        match is_tried || (is_of_limits && competes_for_memory) {
            true => energy_front(problem, &Constraints::default(), ENERGY_TOLERANCE),
            false => Err(error),
        }
    })
}

/// Gives plans whose stages or replicas wait for the same link the numbers that a simulation shows. Whether there are any.
fn simulate_shared_links(
    (network, table): (&Network, &CostTable),
    problem: &Problem,
    plans: &mut [Plan],
) -> Result<bool, Error> {
    let mut has_any = false;
    for plan in plans.iter_mut().filter(|plan| problem.shares_links(plan)) {
        has_any = true;
        *plan = simulated(plan, (&problem.schedule(plan), network, table), None, SteadyState::FRAMES)?;
    }
    Ok(has_any)
}

/// What is searched with what trials have shown of teams, and what is proven of it without.
fn searched_problem(
    (network, board, table): (&Network, &Board, &CostTable),
    space: TeamSpace,
    aim: Aim,
    lessons: &Lessons,
) -> Result<(Problem, PeriodBound), Error> {
    let teams = space.teams(board);
    let problem = |table: &CostTable| {
        Problem::with_teams_and_effort((network.graph(), network.chain(), board, table), &teams, aim.effort)
    };
    let by_costs = problem(table)?;
    let bound = PeriodBound::of(&by_costs)?;

    let TeamLessons { late_by, factors } = lessons.of_teams(network.graph(), table);
    let mut searched = match late_by {
        Nanoseconds::ZERO => by_costs,
        late_by => problem(&table.clone().with_longer_transfers(late_by))?,
    };
    factors.iter().for_each(|(team, factor)| searched.scale_team(team, *factor));
    Ok((searched, bound))
}

/// The board without engines that the costs have no times for, because they were left out: they would make the space of teams larger for
/// nothing, and the first engine is one that runs something.
pub(crate) fn with_timed_engines(board: &Board, table: &CostTable) -> Board {
    let is_timed = |class: &ProcessorClass| {
        let processor = table.find(class);
        processor.is_some_and(|own| (0..table.operators()).any(|operator| table.time(own, operator).is_some()))
    };
    let timed = |cluster: &Cluster| {
        let engines = cluster.engines.iter().filter(|&engine| is_timed(&cluster.class(1).with_engine(engine)));
        EngineSet::try_from(engines.collect::<Vec<_>>()).unwrap_or_else(|_| cluster.engines.clone())
    };
    let engines = board.clusters().iter().map(|cluster| (cluster.label.clone(), timed(cluster))).collect();
    board.clone().with_engines_of(&engines)
}

/// What a search is called.
fn activity(network: &Network) -> String {
    format!("searching for schedules of {}", network.name())
}

/// What found a schedule: a search that is exact without teams, and with them looks where bounds promise something; where processors compete for
/// memory, or stages or replicas for links, simulations show which of its results is best.
pub(crate) fn algorithm(has_teams: bool, is_simulated: bool) -> &'static str {
    match (has_teams, is_simulated) {
        (false, false) => "exact",
        (false, true) => "exact-then-simulated",
        (true, false) => "teams-by-bounds",
        (true, true) => "teams-by-bounds-then-simulated",
    }
}
