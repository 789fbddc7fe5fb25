//! Searching for a better schedule by trials of schedules: runs while frames flow, or simulations.

mod live;
mod places;
mod recorded;
mod simulated;
mod streaming;

pub(crate) use places::parse as parse_places;

use std::time::Duration;

use millstream_cost::CostTable;
use millstream_pipeline::{Objective, PeriodBound, Problem, ThroughputBound, best_period};
use millstream_runtime::{EngineOptions, Goal, TuningPolicy};
use millstream_schedule::{Prediction, Schedule, ScheduleDocument};
use millstream_tune::{
    BoardModel, Exhaustive, Heuristic, HillClimbing, ModelGuided, Oracle, PipeSearch, RandomWalk, Shisha,
    SimulatedAnnealing, Start, Trial, Tuner,
};

use crate::contest::SlowCore;
use crate::control::Control;
use crate::error::Error;
use crate::interference::Interference;
use crate::machine::Machine;
use crate::measuring::CostSource;
use crate::measuring::disturbed;
use crate::measuring::opening::measured_costs;
use crate::network::Network;
use crate::run::precisions::ResultMakers;
use crate::run::reference::Reference;
use crate::schedules::{document, engine};
use live::LiveOracle;
use places::{PlacedOracle, Places};
use recorded::Recorded;
use simulated::SimulatedOracle;

/// How long each trial is watched. A drift is not looked for.
const POLICY: TuningPolicy = TuningPolicy {
    goal: Goal::Throughput,
    window: Duration::from_millis(1500),
    frames: 12,
    drift: f64::INFINITY,
    trials: 0,
    gain: 0.01,
    at_once: true,
};

/// The search by trials, and how far it goes.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct TuneOptions {
    /// The search.
    pub algorithm: TuneAlgorithm,
    /// The most trials.
    pub trials: usize,
    /// Of everything that is random.
    pub seed: u64,
    /// Places of stages for the published searches, such as `B4-s2-s2`; every core on its own if `None`.
    pub places: Option<String>,
}

impl TuneOptions {
    /// So many trials of a search at the most.
    pub fn new(algorithm: TuneAlgorithm, trials: usize) -> Self {
        Self { algorithm, trials, seed: 0, places: None }
    }

    /// The same with another seed.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// The same with these [`TuneOptions::places`].
    #[must_use]
    pub fn with_places(self, places: impl Into<Option<String>>) -> Self {
        Self { places: places.into(), ..self }
    }
}

/// The searches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TuneAlgorithm {
    /// Ours: search on costs that every trial corrects, among stages on single processors and replicas of them.
    ModelGuided,
    /// Shisha, with one of its heuristics.
    Shisha(Heuristic),
    /// Pipe-Search.
    PipeSearch,
    /// Simulated annealing.
    SimulatedAnnealing(Start),
    /// Hill climbing.
    HillClimbing(Start),
    /// A random walk.
    RandomWalk,
    /// All configurations, if they are not more than the trials.
    Exhaustive,
}

/// The place where schedules are tried: this computer, or a simulation.
#[derive(Debug, Clone, Copy)]
pub enum TuneOn<'a> {
    /// On this computer, while frames flow.
    ThisMachine,
    /// In simulation, on the costs of the network on the board.
    Simulation {
        /// The costs.
        costs: CostSource<'a>,
        /// Cores that are slower than the costs say.
        slow_cores: &'a [SlowCore],
        /// Relative standard deviation of operators' times.
        noise: f64,
    },
}

/// The result of a search by trials.
#[derive(Debug, Clone)]
pub struct Tuned {
    /// What was run, or simulated, in order.
    pub trials: Vec<(Schedule, Trial)>,
    /// The schedule with the shortest period, and its trial.
    pub best: (Schedule, Trial),
    /// Its file. Its numbers count as measured ([`Prediction::is_measured`]) only if the trials ran on this computer.
    pub document: ScheduleDocument,
    /// No pipeline of contiguous stages of whole blocks on single processors, or replicas of them, has a shorter period, by the costs that the
    /// search began with ([`PeriodBound`]).
    pub shortest_predicted_on_single_processors_seconds: f64,
}

/// Searches from a schedule, or from the best one by the costs at hand.
///
/// # Errors
/// [`Error::Interrupted`] before the first trial; whatever keeps schedules from being tried.
pub fn tune(
    machine: &Machine,
    network: &Network,
    start: Option<Schedule>,
    on: TuneOn<'_>,
    options: &TuneOptions,
    control: &Control,
) -> Result<Tuned, Error> {
    let board = machine.board();
    let graph = network.graph();
    let (table, backends) = match on {
        TuneOn::Simulation { costs, .. } => (costs.table(network, machine)?, None),
        TuneOn::ThisMachine => {
            let (table, backends) = measured_costs(machine, network, None, control)?;
            (table, Some(backends))
        }
    };

    let used = start.as_ref().map(Schedule::accelerators).unwrap_or_default();
    let table = table.with_one_driver_of_each_device(board, &used);
    let problem = Problem::new(graph, network.chain(), board, &table)?;
    let PeriodBound(bound) = PeriodBound::of(&problem.clone().without_memory_limit())?;
    let start = start.map_or_else(|| Ok(problem.schedule(&best_period(&problem)?)), Ok::<_, Error>)?;
    let places = Places::new(network, board, options.places.as_deref())?;
    let search = Search { machine, network, table: &table, on, places: &places, start: &start, options, control };

    let trials = match (on, backends) {
        (TuneOn::Simulation { slow_cores, noise, .. }, _) => {
            search.run(&mut SimulatedOracle { graph, table: &table, slow_cores, noise, seed: options.seed })?
        }
        (TuneOn::ThisMachine, None) => return Err(Error::Defect("nothing was opened to run on".to_owned())),
        (TuneOn::ThisMachine, Some(backends)) => {
            let engine = engine::new(network, &start, &backends.backend(), EngineOptions::default())?;
            let reference = Reference::new(network, backends.backend(), board, &ResultMakers::all_of(board), None)?;
            streaming::while_frames_flow(&engine, &reference, control, |is_over| {
                let disturbance = Interference::default();
                let mut oracle = LiveOracle { engine: &engine, board, policy: POLICY, is_over, disturbance };
                let trials = search.run(&mut oracle)?;
                let activity = format!("trying out schedules of {}", network.name());
                disturbed::report(&activity, oracle.disturbance, control);
                Ok(trials)
            })?
        }
    };

    let best = trials.iter().min_by_key(|(_, trial)| trial.period).cloned().ok_or(Error::Interrupted)?;
    let document = search.document(&best)?;
    Ok(Tuned { trials, best, document, shortest_predicted_on_single_processors_seconds: bound.seconds() })
}

/// What a search needs.
struct Search<'a> {
    machine: &'a Machine,
    network: &'a Network,
    table: &'a CostTable,
    on: TuneOn<'a>,
    places: &'a Places,
    start: &'a Schedule,
    options: &'a TuneOptions,
    control: &'a Control,
}

impl Search<'_> {
    /// Measures the start, then searches. Returns everything that was run.
    fn run(&self, oracle: &mut dyn Oracle<Schedule>) -> Result<Vec<(Schedule, Trial)>, Error> {
        let mut oracle = Recorded::new(oracle, self.options.trials);
        let found = self.search(&mut oracle);
        match found {
            // Running out of trials is how most searches end, and an interruption keeps what was found.
            Err(_) if oracle.is_exhausted() || self.control.is_cancelled() => {}
            other => other?,
        }
        Ok(oracle.trials)
    }

    fn search(&self, oracle: &mut Recorded<'_>) -> Result<(), Error> {
        let TuneOptions { algorithm, trials, seed, .. } = *self.options;
        let tuner: Box<dyn Tuner> = match algorithm {
            TuneAlgorithm::ModelGuided => {
                let (graph, chain) = (self.network.graph(), self.network.chain());
                let mut model = BoardModel::new(graph, chain, self.machine.board(), self.table);
                let search = ModelGuided { trials, ..ModelGuided::default() };
                search.tune_from(Some(self.start), &mut model, oracle)?;
                return Ok(());
            }
            TuneAlgorithm::Shisha(heuristic) => Box::new(Shisha { heuristic, seed, ..Shisha::default() }),
            TuneAlgorithm::PipeSearch => Box::new(PipeSearch::default()),
            TuneAlgorithm::SimulatedAnnealing(start) => {
                Box::new(SimulatedAnnealing { trials, seed, start, ..SimulatedAnnealing::default() })
            }
            TuneAlgorithm::HillClimbing(start) => Box::new(HillClimbing { trials, seed, start }),
            TuneAlgorithm::RandomWalk => Box::new(RandomWalk { trials, seed }),
            TuneAlgorithm::Exhaustive => Box::new(Exhaustive { most: trials as u128, ..Exhaustive::default() }),
        };
        let mut placed = PlacedOracle { places: self.places, chain: self.network.chain(), schedules: oracle };
        tuner.tune(&self.places.space, &mut placed)?;
        Ok(())
    }

    /// The file of the best schedule, with the times that its trial showed.
    fn document(&self, best: &(Schedule, Trial)) -> Result<ScheduleDocument, Error> {
        let (schedule, trial) = best;
        let replica_seconds = replica_seconds(schedule, trial);
        let bound = ThroughputBound::of(self.network.graph(), self.machine.board(), self.table);
        let prediction = Prediction {
            period_seconds: trial.period.seconds(),
            latency_seconds: replica_seconds.iter().map(|times| times.iter().copied().fold(0.0, f64::max)).sum(),
            is_measured: matches!(self.on, TuneOn::ThisMachine),
            lower_bound_period_seconds: bound.period.seconds(),
            searched: None,
            replica_seconds,
            joules_per_frame: None,
            watts: None,
        };
        let prediction = prediction.with_energy(schedule.energy(self.network.graph(), self.table)?);
        let name = self.options.algorithm.name();
        Ok(document(schedule, prediction, name, Objective::Throughput, self.network, self.machine.board()))
    }
}

impl TuneOptions {
    /// The places that the published searches deal stages out to, for people.
    ///
    /// # Errors
    /// [`Error::Unfit`] if the board does not have them.
    pub fn place_names(&self, network: &Network, machine: &Machine) -> Result<String, Error> {
        Ok(Places::new(network, machine.board(), self.places.as_deref())?.space.to_string())
    }
}

impl TuneAlgorithm {
    /// What files and messages call it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::ModelGuided => "model-guided",
            Self::Shisha(_) => "shisha",
            Self::PipeSearch => "pipe-search",
            Self::SimulatedAnnealing(_) => "simulated-annealing",
            Self::HillClimbing(_) => "hill-climbing",
            Self::RandomWalk => "random-walk",
            Self::Exhaustive => "exhaustive",
        }
    }
}

/// Times of replicas, stage by stage.
fn replica_seconds(schedule: &Schedule, trial: &Trial) -> Vec<Vec<f64>> {
    let mut times = trial.stage_times.iter().map(|time| time.seconds());
    schedule.stages.iter().map(|stage| times.by_ref().take(stage.replicas.len()).collect()).collect()
}
