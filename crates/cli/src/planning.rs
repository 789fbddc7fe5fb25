//! From a profile to plans: fit, search, try out, and search again.

use std::sync::Arc;

use anyhow::{Result, bail};
use millstream_backend::Backend;
use millstream_board::Board;
use millstream_cost::{Profile, SegmentSample, fit};
use millstream_graph::Graph;
use millstream_pipeline::{Objective, Plan, Problem, best_period, choose, pareto_front};
use millstream_schedule::{BoardReference, Prediction, SCHEDULE_FORMAT, SCHEDULE_VERSION, Schedule, ScheduleDocument};

use crate::model::Network;
use crate::progress::Steps;
use crate::{interrupt, profiling, trial};

/// Plans that are tried out at the most for one objective.
const MOST_TRIALS: usize = 6;

/// The search's result for a network on a board.
pub(crate) struct Plans {
    pub(crate) problem: Problem,
    pub(crate) front: Vec<Plan>,
    /// Shortest period of any pipeline under the costs at hand, in seconds.
    pub(crate) lower_bound_seconds: f64,
}

impl Plans {
    /// Searches on the costs that the profile gives.
    pub(crate) fn search(network: &Network, board: &Board, profile: &Profile) -> Result<Self> {
        let graph: &Graph = network.model.graph();
        let table = fit(profile, board, network.model.digest(), graph, &network.chain)?;
        let problem = Problem::new(graph, &network.chain, board, &table)?;
        let lower_bound_seconds = best_period(&problem)?.period.seconds();
        Ok(Self { front: pareto_front(&problem)?, problem, lower_bound_seconds })
    }

    /// As [`Plans::search`], but tries out what it would choose and learns from it, until the choice has been tried.
    /// What was measured is added to the profile.
    pub(crate) fn refine(
        network: &Network,
        board: &Board,
        backend: &Arc<dyn Backend>,
        profile: &mut Profile,
        objectives: &[Objective],
    ) -> Result<Self> {
        let mut plans = Self::search(network, board, profile)?;
        let mut tried: Vec<Plan> = Vec::new();
        let mut steps = Steps::new(format!("trying out schedules of {}", network.name()), MOST_TRIALS * objectives.len());
        for &objective in objectives {
            for _ in 0..MOST_TRIALS {
                let plan = plans.chosen(objective)?.clone();
                if tried.iter().any(|other| other.stages == plan.stages) {
                    break;
                }
                let samples = trial::run(network, board, backend, &plans.problem, &plan)?;
                let configuration = plans.problem.schedule(&plan).to_string();
                let found: Vec<f64> = samples.iter().map(|sample| sample.time.median_seconds * 1e3).collect();
                tracing::info!(%objective, configuration, period = %plan.period, latency = %plan.latency, ?found, "trial");
                if interrupt::requested() {
                    bail!("interrupted; nothing was written");
                }
                replace_samples(profile, network, samples);
                tried.push(plan);
                steps.set(tried.len(), MOST_TRIALS * objectives.len());
                plans = Self::search(network, board, profile)?;
            }
        }
        Ok(plans)
    }

    /// The plan for an objective.
    pub(crate) fn chosen(&self, objective: Objective) -> Result<&Plan> {
        match choose(&self.front, objective).and_then(|index| self.front.get(index)) {
            Some(plan) => Ok(plan),
            None => bail!("there is no plan to choose from"),
        }
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
        let graph = network.model.graph();
        let replica_seconds = plan.stages.iter().map(|stage| {
            stage.replicas.iter().map(|class| self.problem.stage_time(&stage.blocks, class).seconds()).collect()
        });
        let document = ScheduleDocument {
            format: SCHEDULE_FORMAT.to_owned(),
            version: SCHEDULE_VERSION,
            provenance: profiling::provenance(),
            model: network.reference(),
            board: BoardReference { name: board.name().to_owned(), fingerprint: board.fingerprint() },
            algorithm: "exact".to_owned(),
            objective: objective.to_string(),
            configuration: schedule.to_string(),
            predicted: Prediction {
                period_seconds: plan.period.seconds(),
                latency_seconds: plan.latency.seconds(),
                lower_bound_period_seconds: self.lower_bound_seconds,
                replica_seconds: replica_seconds.collect(),
            },
            stages: schedule.to_stages(graph),
        };
        (schedule, document)
    }
}

/// Adds samples to the network's profile; a newer sample of the same segment replaces the older one.
fn replace_samples(profile: &mut Profile, network: &Network, samples: Vec<SegmentSample>) {
    let digest = network.model.digest();
    if let Some(measured) = profile.networks.iter_mut().find(|measured| measured.digest == digest) {
        let is_same = |a: &SegmentSample, b: &SegmentSample| {
            a.processor == b.processor && a.start == b.start && a.end == b.end
        };
        measured.samples.retain(|old| !samples.iter().any(|new| is_same(old, new)));
        measured.samples.extend(samples);
    }
}
