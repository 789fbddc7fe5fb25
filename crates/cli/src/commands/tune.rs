use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Result, bail};
use millstream_board::Board;
use millstream_cost::CostTable;
use millstream_pipeline::{Objective, Problem, best_period};
use millstream_report::{Align, Table, milliseconds};
use millstream_runtime::{Engine, EngineOptions, Goal, TuningPolicy};
use millstream_schedule::{Prediction, Schedule};
use millstream_tune::{
    BoardModel, Exhaustive, HillClimbing, ModelGuided, Oracle, PipeSearch, RandomWalk, Shisha, SimulatedAnnealing,
    Start, Trial, Tuner,
};
use serde::Serialize;

use crate::adaptive::{LiveOracle, Recorded};
use crate::arguments::{Algorithm, DEFAULT_MODEL, TuneCommand};
use crate::model::Network;
use crate::places::{PlacedOracle, Places};
use crate::planning::document;
use crate::reference::Reference;
use crate::scheduled::Scheduled;
use crate::simulated::SimulatedOracle;
use crate::{files, interrupt, machine, output, profiling};

/// How long each trial is watched. A drift is not looked for.
const POLICY: TuningPolicy = TuningPolicy {
    goal: Goal::Throughput,
    window: std::time::Duration::from_millis(1500),
    frames: 12,
    drift: f64::INFINITY,
    trials: 0,
    gain: 0.01,
    at_once: true,
};

#[derive(Serialize)]
struct Report {
    algorithm: String,
    trials: Vec<TrialReport>,
    best: String,
    period_seconds: f64,
    lower_bound_period_seconds: f64,
}

#[derive(Serialize)]
struct TrialReport {
    configuration: String,
    period_seconds: f64,
    stage_seconds: Vec<f64>,
    spent_seconds: f64,
}

pub(crate) fn run(command: &TuneCommand) -> Result<()> {
    files::check_writable(&command.output)?;
    interrupt::listen();
    let (network, board, start) = match command.scheduled() {
        Some(arguments) => {
            let Scheduled { network, board, schedule, .. } = Scheduled::load(&arguments)?;
            (network, board, Some(schedule))
        }
        None => {
            let source = command.model.model.as_deref().unwrap_or(DEFAULT_MODEL);
            let network = Network::load(source, &command.model.dimensions)?;
            (network, machine::board(command.board.board.as_deref())?, None)
        }
    };
    let graph = network.model.graph();
    let (table, backends) = if command.simulate {
        (profiling::costs(command.cost.as_deref(), command.profile.as_deref(), &network, &board)?, None)
    } else {
        machine::check_usable(&board)?;
        let (table, backends) = profiling::measured_costs(&network, &board, false)?;
        (table, Some(backends))
    };
    let problem = Problem::new(graph, &network.chain, &board, &table)?;
    let exact = best_period(&problem)?;
    let start = start.unwrap_or_else(|| problem.schedule(&exact));
    let places = Places::new(&network, &board, command.places.as_deref())?;
    let search = Search { command, network: &network, table: &table, board: &board, places: &places, start: &start };
    let trials = match backends {
        Some(backends) => {
            let options = EngineOptions { takes_over: true, ..EngineOptions::default() };
            let engine = Engine::new(graph, &start, &[std::sync::Arc::clone(&backends.all)], &options)?;
            let reference = Reference::new(&network, &backends.all, &board)?;
            let live =
                |is_over: &dyn Fn() -> bool| search.run(&mut LiveOracle { engine: &engine, policy: POLICY, is_over });
            streaming(&engine, &reference, &live)?
        }
        None => {
            let (noise, seed) = (command.noise / 100.0, command.seed);
            search.run(&mut SimulatedOracle { graph, table: &table, slow_cores: &command.slow_cores, noise, seed })?
        }
    };

    let Some((best, trial)) = trials.iter().min_by_key(|(_, trial)| trial.period) else {
        bail!("interrupted before the first trial; nothing was written");
    };
    let replica_seconds = replica_seconds(best, trial);
    let prediction = Prediction {
        period_seconds: trial.period.seconds(),
        latency_seconds: replica_seconds.iter().map(|times| times.iter().copied().fold(0.0, f64::max)).sum(),
        lower_bound_period_seconds: exact.period.seconds().min(trial.period.seconds()),
        replica_seconds,
        joules_per_frame: None,
        watts: None,
    }
    .with_energy(best.energy(graph, &table)?);
    let algorithm = command.algorithm_name();
    let made = document(best, prediction, &algorithm, Objective::Throughput, &network, &board);
    files::write(&command.output, &serde_json::to_string_pretty(&made)?)?;
    report(command, &network, &trials, best, trial, exact.period.seconds())?;
    output::remark(format!("wrote {}; run it with: cargo xtask run --schedule {0}", command.output.display()));
    Ok(())
}

/// What a search needs.
struct Search<'a> {
    command: &'a TuneCommand,
    network: &'a Network,
    board: &'a Board,
    table: &'a CostTable,
    places: &'a Places,
    start: &'a Schedule,
}

impl Search<'_> {
    /// Measures the start, then searches. Returns everything that was run.
    fn run(&self, oracle: &mut dyn Oracle<Schedule>) -> Result<Vec<(Schedule, Trial)>> {
        let mut oracle = Recorded::new(oracle, self.command.trials as usize);
        let found = self.search(&mut oracle);
        match found {
            // Running out of trials is how most searches end, and an interruption keeps what was found.
            Err(_) if oracle.is_exhausted() || interrupt::requested() => {}
            other => other?,
        }
        Ok(oracle.trials)
    }

    fn search(&self, oracle: &mut Recorded<'_>) -> Result<()> {
        let seed = self.command.seed;
        let trials = self.command.trials as usize;
        let tuner: Box<dyn Tuner> = match self.command.algorithm {
            Algorithm::ModelGuided => {
                let mut model =
                    BoardModel::new(self.network.model.graph(), &self.network.chain, self.board, self.table);
                let search = ModelGuided { trials, ..ModelGuided::default() };
                search.tune_from(Some(self.start), &mut model, oracle)?;
                return Ok(());
            }
            Algorithm::Shisha => Box::new(Shisha { heuristic: self.command.heuristic, seed, ..Shisha::default() }),
            Algorithm::PipeSearch => Box::new(PipeSearch::default()),
            Algorithm::SimulatedAnnealing => {
                Box::new(SimulatedAnnealing { trials, seed, start: self.first(), ..SimulatedAnnealing::default() })
            }
            Algorithm::HillClimbing => Box::new(HillClimbing { trials, seed, start: self.first() }),
            Algorithm::RandomWalk => Box::new(RandomWalk { trials, seed }),
            Algorithm::Exhaustive => Box::new(Exhaustive { most: trials as u128, ..Exhaustive::default() }),
        };
        let space = &self.places.space;
        output::remark(format!("{} over {space}", tuner.name()));
        let mut placed = PlacedOracle { places: self.places, chain: &self.network.chain, schedules: oracle };
        tuner.tune(space, &mut placed)?;
        Ok(())
    }

    fn first(&self) -> Start {
        if self.command.shisha_seed { Start::ShishaSeed } else { Start::Random }
    }
}

/// Streams frames through the engine while `work` goes on, and checks every result.
fn streaming<T: Send>(
    engine: &Engine,
    reference: &Reference,
    work: &(dyn Fn(&dyn Fn() -> bool) -> Result<T> + Sync),
) -> Result<T> {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let working = scope.spawn(|| {
            let done = work(&|| interrupt::requested() || is_over.load(Ordering::Relaxed));
            is_over.store(true, Ordering::Relaxed);
            done
        });
        let mut number = 0;
        let frames = std::iter::from_fn(|| {
            number += 1;
            (!is_over.load(Ordering::Relaxed)).then(|| reference.frame(number - 1))
        });
        let mut checked = Ok(());
        for result in engine.run(frames) {
            if checked.is_ok() {
                let outcome = result.outcome.map_err(anyhow::Error::from);
                checked = outcome.and_then(|results| reference.check(result.sequence, &results)).map(drop);
                is_over.fetch_or(checked.is_err(), Ordering::Relaxed);
            }
        }
        let done = working.join().map_err(|_| anyhow::anyhow!("the search panicked"))?;
        checked?;
        done
    })
}

/// Times of replicas, stage by stage.
fn replica_seconds(schedule: &Schedule, trial: &Trial) -> Vec<Vec<f64>> {
    let mut times = trial.stage_times.iter().map(|time| time.seconds());
    schedule.stages.iter().map(|stage| times.by_ref().take(stage.replicas.len()).collect()).collect()
}

/// How many operators each stage has.
fn operators(schedule: &Schedule) -> String {
    let count = |stage: &millstream_schedule::Stage| {
        stage.replicas.first().map_or(0, |replica| replica.operators().count()).to_string()
    };
    schedule.stages.iter().map(count).collect::<Vec<_>>().join(" ")
}

fn report(
    command: &TuneCommand,
    network: &Network,
    trials: &[(Schedule, Trial)],
    best: &Schedule,
    found: &Trial,
    lower_bound: f64,
) -> Result<()> {
    if command.json {
        let reports = trials.iter().map(|(schedule, trial)| TrialReport {
            configuration: schedule.to_string(),
            period_seconds: trial.period.seconds(),
            stage_seconds: trial.stage_times.iter().map(|time| time.seconds()).collect(),
            spent_seconds: trial.spent.seconds(),
        });
        return output::json(&Report {
            algorithm: command.algorithm_name(),
            trials: reports.collect(),
            best: best.to_string(),
            period_seconds: found.period.seconds(),
            lower_bound_period_seconds: lower_bound,
        });
    }
    let mut table = Table::new([
        ("trial", Align::Right),
        ("configuration", Align::Left),
        ("operators", Align::Left),
        ("stages ms", Align::Left),
        ("frames/s", Align::Right),
        ("best so far", Align::Right),
    ]);
    let mut shortest = f64::INFINITY;
    for (index, (schedule, trial)) in trials.iter().enumerate() {
        shortest = shortest.min(trial.period.seconds());
        let stages: Vec<String> = trial.stage_times.iter().map(|time| milliseconds(time.seconds())).collect();
        table.row([
            (index + 1).to_string(),
            schedule.to_string(),
            operators(schedule),
            stages.join(" "),
            format!("{:.1}", 1.0 / trial.period.seconds()),
            format!("{:.1}", 1.0 / shortest),
        ]);
    }
    output::line(format!("{}: {} trials by {}\n\n{table}", network.name(), trials.len(), command.algorithm_name()));
    output::line(format!(
        "\nBest: {best} with {:.1} frames/s. By the profile, no pipeline has more than {:.1}.",
        1.0 / found.period.seconds(),
        1.0 / lower_bound
    ));
    Ok(())
}
