//! Schedules for a pipeline that is running, from a model that its trials correct.

use millstream_board::Board;
use millstream_cost::{CostTable, Nanoseconds};
use millstream_pipeline::Objective;
use millstream_runtime::{Engine, Goal, Observation, Planner, TuningEvent, TuningPolicy};
use millstream_schedule::Schedule;
use millstream_tune::{BoardModel, ModelGuided, TimeModel, Trial};

use crate::control::{Control, Event};
use crate::error::Error;
use crate::network::Network;
use crate::schedules::Scheduled;

/// What an observation says to the searches.
pub(crate) fn trial_of(seen: &Observation, spent: Nanoseconds) -> Trial {
    let time = |time: &Option<std::time::Duration>| time.map(Nanoseconds::from).unwrap_or_default();
    Trial {
        stage_times: seen.replica_times.iter().flatten().map(time).collect(),
        period: Nanoseconds::from(seen.period),
        available: seen.cores.iter().map(|load| (load.core, load.available())).collect(),
        spent,
        ..Trial::default()
    }
}

/// Watches a running engine until `is_over` says so, and changes its schedule when conditions change. Frames must flow
/// meanwhile.
pub(crate) fn adapt(
    engine: &Engine,
    scheduled: &Scheduled,
    board: &Board,
    costs: &CostTable,
    is_over: &dyn Fn() -> bool,
    control: &Control,
) -> Result<Vec<TuningEvent>, Error> {
    let objective = scheduled.document.objective;
    let mut planner = ModelPlanner::new(&scheduled.network, board, costs, objective);
    let mut tell = |event: &TuningEvent| control.emit(&Event::Tuning(event));
    Ok(engine.tune(&mut planner, &policy(objective), is_over, &mut tell)?)
}

/// How a running schedule is watched and replaced, for an objective.
fn policy(objective: Objective) -> TuningPolicy {
    let goal = match objective {
        Objective::Throughput | Objective::Energy => Goal::Throughput,
        Objective::Latency => Goal::Latency,
        Objective::Balanced => Goal::Balanced,
    };
    // What is worth a trial is worth keeping. Conditions may differ from those of the profile from the beginning.
    let gain = ModelGuided::default().noise;
    TuningPolicy { goal, gain, at_once: true, ..TuningPolicy::default() }
}

/// Plans for an engine with the search of `schedule` on costs that follow what the engine shows.
struct ModelPlanner {
    model: BoardModel,
    tried: Vec<Schedule>,
}

impl ModelPlanner {
    fn new(network: &Network, board: &Board, table: &CostTable, objective: Objective) -> Self {
        let model = BoardModel::new(network.graph(), network.chain(), board, table).with_objective(objective);
        Self { model, tried: Vec::new() }
    }
}

impl Planner for ModelPlanner {
    fn propose(&mut self, seen: &Observation) -> Result<Option<Schedule>, Box<dyn std::error::Error + Send + Sync>> {
        self.model.learn(&seen.schedule, &trial_of(seen, Nanoseconds::ZERO));
        if !self.tried.contains(&seen.schedule) {
            self.tried.push(seen.schedule.clone());
        }
        let next = ModelGuided::default().next(&mut self.model, &self.tried)?;
        tracing::info!(slowdowns = ?self.model.slowdowns(), next = next.as_ref().map(ToString::to_string), "plan");
        Ok(next)
    }

    fn forget(&mut self) {
        self.model.forget();
        self.tried.clear();
    }
}
