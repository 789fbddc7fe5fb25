//! Flags of `tune`: the search, its trials on the machine or in simulation; and the command to go on with.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use millstream::{CostSource, SlowCore, TuneAlgorithm, TuneOn, TuneOptions};
use millstream_tune::{Heuristic, Start};

use super::schedule::{flags, quoted_path};
use super::slow_core::parse_slow_core;
use super::values::{parse_count, parse_noise};
use super::{BoardArguments, DimensionArguments};

/// How to search for schedules by running them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Algorithm {
    /// Searches a cost model that is refined after each trial
    ModelGuided,
    /// Moves layers away from the slowest stage, from a balanced start (Soomro et al., 2022)
    Shisha,
    /// Tries divisions of the layers from the most even one on (Soomro et al., 2021)
    PipeSearch,
    /// Small random changes; changes for the worse are accepted less and less often
    SimulatedAnnealing,
    /// Small changes, of which those that help are kept
    HillClimbing,
    /// Random configurations
    RandomWalk,
    /// Every configuration; refused if there are more than --trials
    Exhaustive,
}

#[derive(Debug, Args)]
pub(crate) struct TuneCommand {
    /// A schedule to start from and to compare with [default: what a search on the profile finds]
    #[arg(long, value_name = "FILE")]
    pub(crate) schedule: Option<PathBuf>,
    /// An ONNX file, or zoo:NAME for a built-in network [default: what the schedule names, or zoo:squeezenet]
    #[arg(long, value_name = "FILE|zoo:NAME")]
    pub(crate) model: Option<String>,
    #[command(flatten)]
    pub(crate) dimensions: DimensionArguments,
    #[command(flatten)]
    pub(crate) board: BoardArguments,
    /// How to search
    #[arg(long, value_enum, default_value_t = Algorithm::ModelGuided, help_heading = "Search")]
    pub(crate) algorithm: Algorithm,
    /// The most schedules that are run, the first one included
    #[arg(long, value_name = "COUNT", default_value_t = 10, value_parser = parse_count::<u32>, help_heading = "Search")]
    pub(crate) trials: u32,
    /// Processors that stages may own, for all algorithms but model-guided, such as B4-s2-s2 [default: each core]
    #[arg(long, value_name = "PROCESSORS", help_heading = "Search")]
    pub(crate) places: Option<String>,
    /// Which of Shisha's heuristics, H1 to H6
    #[arg(long, value_name = "NAME", default_value_t = Heuristic::H3, help_heading = "Search")]
    pub(crate) heuristic: Heuristic,
    /// Start simulated annealing or hill climbing with Shisha's seed instead of at random
    #[arg(long, help_heading = "Search")]
    pub(crate) shisha_seed: bool,
    /// Seed of random choices, and of noise
    #[arg(long, default_value_t = 0, help_heading = "Search")]
    pub(crate) seed: u64,
    /// Simulate schedules instead of running them: the board need not be here
    #[arg(long, help_heading = "Simulation")]
    pub(crate) simulate: bool,
    /// For simulating: a profile of the board that has the network; without it, the cached one is used
    #[arg(long, value_name = "FILE", requires = "simulate", help_heading = "Simulation")]
    pub(crate) profile: Option<PathBuf>,
    /// For simulating: cost models of the board, as `fit` writes them, or the name of a built-in board, instead of a
    /// profile
    #[arg(
        long,
        value_name = "FILE|NAME",
        requires = "simulate",
        conflicts_with = "profile",
        help_heading = "Simulation"
    )]
    pub(crate) cost: Option<PathBuf>,
    /// For simulating: noise on the times of operators, standard deviation in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 0.0, value_parser = parse_noise, requires = "simulate", help_heading = "Simulation")]
    pub(crate) noise: f64,
    /// For simulating: a core that is so many times slower than the costs say; may be repeated
    #[arg(long = "slow-core", value_name = "CPU:FACTOR", value_parser = parse_slow_core, requires = "simulate", help_heading = "Simulation")]
    pub(crate) slow_cores: Vec<SlowCore>,
    /// Where to write the fastest schedule that was tried
    #[arg(short, long, value_name = "FILE", default_value = "schedule.json", help_heading = "Results")]
    pub(crate) output: PathBuf,
    /// Print the trials as JSON
    #[arg(long, help_heading = "Results")]
    pub(crate) json: bool,
}

impl TuneCommand {
    /// The search and how far it goes.
    pub(crate) fn options(&self) -> TuneOptions {
        let start = if self.shisha_seed { Start::ShishaSeed } else { Start::Random };
        let algorithm = match self.algorithm {
            Algorithm::ModelGuided => TuneAlgorithm::ModelGuided,
            Algorithm::Shisha => TuneAlgorithm::Shisha(self.heuristic),
            Algorithm::PipeSearch => TuneAlgorithm::PipeSearch,
            Algorithm::SimulatedAnnealing => TuneAlgorithm::SimulatedAnnealing(start),
            Algorithm::HillClimbing => TuneAlgorithm::HillClimbing(start),
            Algorithm::RandomWalk => TuneAlgorithm::RandomWalk,
            Algorithm::Exhaustive => TuneAlgorithm::Exhaustive,
        };
        TuneOptions::new(algorithm, self.trials as usize).with_seed(self.seed).with_places(self.places.clone())
    }

    /// How the schedule is used: what was tried here is run, what was simulated is simulated.
    pub(crate) fn next_command(&self) -> String {
        let verb = if self.simulate { "simulate" } else { "run" };
        let costs = [("--cost", &self.cost), ("--profile", &self.profile)].into_iter().filter(|_| self.simulate);
        let ground = flags([("--board", &self.board.board)].into_iter().chain(costs));
        format!("{verb} it with: cargo xtask {verb} --schedule {}{ground}", quoted_path(&self.output))
    }

    /// Where schedules are tried.
    pub(crate) fn on(&self) -> TuneOn<'_> {
        let costs = super::cost_source(self.cost.as_deref(), self.profile.as_deref()).unwrap_or(CostSource::Cached);
        if self.simulate {
            TuneOn::Simulation { costs, slow_cores: &self.slow_cores, noise: self.noise / 100.0 }
        } else {
            TuneOn::ThisMachine
        }
    }
}
