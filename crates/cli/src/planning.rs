//! From a profile to plans: fit, search, try out, and search again.

use std::sync::Arc;

use anyhow::{Result, bail};
use millstream_backend::Backend;
use millstream_board::{Board, ProcessorClass};
use millstream_cost::{Clocks, CostTable};
use millstream_graph::Graph;
use millstream_pipeline::{
    Constraints, Nanojoules, Objective, Plan, Problem, best_period, choose, energy_front, pareto_front, score, teams_of,
};
use millstream_predict::{Profile, SegmentSample, fit};
use millstream_schedule::{BoardReference, Prediction, SCHEDULE_FORMAT, SCHEDULE_VERSION, Schedule, ScheduleDocument};

use crate::model::Network;
use crate::progress::Steps;
use crate::{interrupt, profiling, trial};

/// Time for a profile that a schedule needs on the way.
pub(crate) const PROFILE_BUDGET: std::time::Duration = std::time::Duration::from_secs(20);
/// Plans that are tried out at the most for one objective.
const MOST_TRIALS: usize = 8;
/// How much more energy than necessary a plan may cost.
pub(crate) const ENERGY_TOLERANCE: f64 = 0.01;
/// Gains below this, in terms of [`Objective::score`], are not worth a trial.
const NOISE: f64 = 0.005;

/// The search's result for a network on a board.
pub(crate) struct Plans {
    pub(crate) problem: Problem,
    pub(crate) front: Vec<Plan>,
    /// The costs that were searched on.
    pub(crate) table: CostTable,
    /// What was learnt from trials.
    lessons: Lessons,
    /// Shortest period of any pipeline under the costs at hand, in seconds.
    pub(crate) lower_bound_seconds: f64,
}

/// What a search is for.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Aim {
    pub(crate) constraints: Constraints,
    /// Whether plans are wanted that cost little energy, even if they are neither fast nor quick.
    pub(crate) wants_energy: bool,
}

/// What is asked for, and what trials have shown.
#[derive(Debug, Clone, Default)]
struct Lessons {
    aim: Aim,
    /// Plans that were tried, with the numbers that they were seen to have.
    tried: Vec<Plan>,
    /// How many times longer stages of a team take than predicted.
    teams: Vec<(Vec<ProcessorClass>, f64)>,
}

impl Lessons {
    fn add(&mut self, plan: &Plan, measured: Plan) {
        for (stage, seen) in plan.stages.iter().zip(&measured.stages).filter(|(stage, _)| stage.is_team) {
            let (Some(predicted), Some(found)) = (stage.times.first(), seen.times.first()) else { continue };
            let ratio = found.seconds() / predicted.seconds().max(1e-9);
            match self.teams.iter_mut().find(|(team, _)| *team == stage.replicas) {
                // The prediction had the earlier lessons in it.
                Some((_, factor)) => *factor *= ratio,
                None => self.teams.push((stage.replicas.clone(), ratio)),
            }
        }
        self.tried.push(measured);
    }
}

impl Plans {
    /// Searches on the costs that the profile gives. Plans that were tried have the numbers that they were seen to have.
    pub(crate) fn search(network: &Network, board: &Board, profile: &Profile, aim: Aim) -> Result<Self> {
        Self::search_again(network, board, profile, Lessons { aim, ..Lessons::default() })?.feasible()
    }

    /// The same if some plan keeps to the constraints.
    fn feasible(self) -> Result<Self> {
        self.lessons.aim.constraints.among(&self.front)?;
        Ok(self)
    }

    fn search_again(network: &Network, board: &Board, profile: &Profile, lessons: Lessons) -> Result<Self> {
        let graph: &Graph = network.model.graph();
        let table = fit(profile, board, network.model.digest(), graph, &network.chain)?;
        Self::search_with(network, board, &table, lessons)
    }

    /// Searches on given costs.
    pub(crate) fn search_table(network: &Network, board: &Board, table: &CostTable, aim: Aim) -> Result<Self> {
        Self::search_with(network, board, table, Lessons { aim, ..Lessons::default() })?.feasible()
    }

    fn search_with(network: &Network, board: &Board, table: &CostTable, mut lessons: Lessons) -> Result<Self> {
        let graph: &Graph = network.model.graph();
        let mut problem = Problem::with_teams(graph, &network.chain, board, table, &teams_of(board))?;
        lessons.teams.iter().for_each(|(team, factor)| problem.scale_team(team, *factor));
        let lower_bound_seconds = best_period(&problem)?.period.seconds();
        let Aim { constraints, wants_energy } = lessons.aim;
        let mut plans = match wants_energy {
            // Later on, what was tried may show that nothing keeps to the constraints.
            true => energy_front(&problem, &constraints, ENERGY_TOLERANCE)
                .or_else(|error| if lessons.tried.is_empty() { Err(error) } else { pareto_front(&problem) })?,
            false => pareto_front(&problem)?,
        };
        plans.retain(|plan| !lessons.tried.iter().any(|other| other.is_same_pipeline(plan)));
        // What was measured of a plan changes its energy as well.
        lessons.tried.iter_mut().for_each(|plan| plan.energy = problem.energy(plan));
        plans.extend_from_slice(&lessons.tried);
        let front = if wants_energy { Plan::undominated_with_energy(plans) } else { Plan::undominated(plans) };
        Ok(Self { front, lessons, problem, table: table.clone(), lower_bound_seconds })
    }

    /// As [`Plans::search`], but tries out what it would choose and learns from it, until nothing promises to be better
    /// than what was tried. What was measured is added to the profile.
    pub(crate) fn refine(
        network: &Network,
        board: &Board,
        backend: &Arc<dyn Backend>,
        profile: &mut Profile,
        objectives: &[Objective],
        aim: Aim,
    ) -> Result<Self> {
        let mut plans = Self::search(network, board, profile, aim)?;
        let most = MOST_TRIALS * objectives.len();
        let mut steps = Steps::new(format!("trying out schedules of {}", network.name()), most);
        for &objective in objectives {
            for _ in 0..MOST_TRIALS {
                let Some(plan) = plans.worth_trying(objective).cloned() else { break };
                let trial = trial::run(network, board, backend, &plans.problem, &plan)?;
                if interrupt::requested() {
                    bail!("interrupted; nothing was written");
                }
                let configuration = plans.problem.schedule(&plan).to_string();
                let (period, found) = (plan.period, trial.measured.period);
                tracing::info!(%objective, configuration, %period, %found, latency = %trial.measured.latency, "trial");
                replace_samples(profile, network, trial.samples);
                let mut lessons = std::mem::take(&mut plans.lessons);
                lessons.add(&plan, trial.measured);
                steps.set(lessons.tried.len(), most);
                plans = Self::search_again(network, board, profile, lessons)?;
            }
        }
        Ok(plans)
    }

    /// The untried plan that a trial should go to; `None` if no plan promises a gain above the noise.
    fn worth_trying(&self, objective: Objective) -> Option<&Plan> {
        let tried = self.allowed(&self.lessons.tried);
        let is_tried = |plan: &&Plan| self.lessons.tried.iter().any(|other| other.is_same_pipeline(plan));
        // What counts as near the best throughput depends on what the best really is.
        let shortest = self.allowed(&self.front).pop().filter(|_| objective == Objective::Throughput);
        if let Some(plan) = shortest.filter(|plan| !is_tried(plan)) {
            return Some(plan);
        }
        let candidate = self.best_on_front(objective)?;
        let known = choose(&tried, objective).and_then(|index| tried.get(index));
        let gain = known.map_or(f64::INFINITY, |known| score(objective, known) - score(objective, candidate));
        (gain > NOISE && !is_tried(&candidate)).then_some(candidate)
    }

    /// The plan for an objective: among those that were tried, if any were.
    pub(crate) fn chosen(&self, objective: Objective) -> Result<&Plan> {
        let tried = self.allowed(&self.lessons.tried);
        let plans = if tried.is_empty() { self.allowed(&self.front) } else { tried };
        match choose(&plans, objective).and_then(|index| plans.get(index)) {
            Some(plan) => Ok(plan),
            // What was tried may have turned out not to keep to the constraints.
            None => match self.lessons.aim.constraints.among(&self.front) {
                Err(error) => Err(error.into()),
                Ok(_) => bail!("there is no plan to choose from"),
            },
        }
    }

    /// The plan on the front that is best for an objective, tried or not.
    pub(crate) fn best_on_front(&self, objective: Objective) -> Option<&Plan> {
        let plans = self.allowed(&self.front);
        choose(&plans, objective).and_then(|index| plans.get(index).copied())
    }

    /// The plans that keep to the constraints.
    fn allowed<'a>(&self, plans: &'a [Plan]) -> Vec<&'a Plan> {
        plans.iter().filter(|plan| self.lessons.aim.constraints.allow(plan)).collect()
    }

    /// The schedule file of a plan.
    pub(crate) fn document(
        &self,
        plan: &Plan,
        objective: Objective,
        network: &Network,
        board: &Board,
    ) -> (Schedule, ScheduleDocument) {
        let schedule = self.problem.schedule(plan);
        let replica_seconds = plan.stages.iter().map(|stage| stage.times.iter().map(|time| time.seconds()).collect());
        let predicted = Prediction {
            period_seconds: plan.period.seconds(),
            latency_seconds: plan.latency.seconds(),
            lower_bound_period_seconds: self.lower_bound_seconds.min(plan.period.seconds()),
            replica_seconds: replica_seconds.collect(),
            joules_per_frame: plan.energy.map(Nanojoules::joules),
            watts: plan.watts(),
        };
        let document = document(&schedule, predicted, "exact", objective, network, board);
        (schedule, document)
    }
}

/// The file of a schedule.
pub(crate) fn document(
    schedule: &Schedule,
    predicted: Prediction,
    algorithm: &str,
    objective: Objective,
    network: &Network,
    board: &Board,
) -> ScheduleDocument {
    ScheduleDocument {
        format: SCHEDULE_FORMAT.to_owned(),
        version: SCHEDULE_VERSION,
        provenance: profiling::provenance(),
        model: network.reference(),
        board: BoardReference { name: board.name().to_owned(), fingerprint: board.fingerprint() },
        algorithm: algorithm.to_owned(),
        objective,
        configuration: schedule.to_string(),
        predicted,
        clocks: Clocks::new(),
        stages: schedule.to_stages(network.model.graph()),
    }
}

/// Adds samples to the network's profile; a newer sample of the same segment replaces the older one.
fn replace_samples(profile: &mut Profile, network: &Network, samples: Vec<SegmentSample>) {
    let digest = network.model.digest();
    if let Some(measured) = profile.networks.iter_mut().find(|measured| measured.digest == digest) {
        let is_same =
            |a: &SegmentSample, b: &SegmentSample| a.processor == b.processor && a.start == b.start && a.end == b.end;
        measured.samples.retain(|old| !samples.iter().any(|new| is_same(old, new)));
        measured.samples.extend(samples);
    }
}
