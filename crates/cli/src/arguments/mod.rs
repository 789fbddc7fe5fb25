//! Every command, flag and help text.

mod algorithm;
#[cfg(unix)]
mod deploy;
mod input;
mod run;
mod schedule;
mod simulate;
mod slow_core;
mod tune;
mod values;

use std::path::{Path, PathBuf};

use crate::distinct::NamedFiles;
use anyhow::{Result, bail};
use clap::{Args, Parser, Subcommand, ValueEnum};
use millstream::{CostSource, EngineName, EngineSet, Machine, ReadOptions, Scheduled, SlowCore};
#[cfg(feature = "highs")]
use millstream_reproduce::Paper;

use crate::duration::Budget;
use slow_core::parse_slow_core;
use values::parse_dimension;

pub(crate) use algorithm::Algorithm;
#[cfg(unix)]
pub(crate) use deploy::DeployCommand;
pub(crate) use input::InputArguments;
pub(crate) use run::RunCommand;
pub(crate) use schedule::ScheduleCommand;
pub(crate) use simulate::SimulateCommand;
pub(crate) use tune::TuneCommand;

/// The model that commands take when none is given.
pub(crate) const DEFAULT_MODEL: &str = "zoo:squeezenet";

/// Find the best way to run an ONNX network on all of a board's processors, and run it that way.
#[derive(Debug, Parser)]
#[command(name = "millstream", version, propagate_version = true, max_term_width = 110)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,

    /// Say more about what happens (-v, -vv)
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show what was detected of this machine, or what a board file says
    #[command(after_help = "Example:\n  cargo xtask board --json > board.json")]
    Board(BoardCommand),
    /// List the boards that are known by name, for --board and --cost
    #[command(
        after_help = "Example:\n  cargo xtask boards\n  cargo xtask schedule --board rk3588 --cost rk3588 --model zoo:googlenet"
    )]
    Boards(BoardsCommand),
    /// Measure layers of many shapes, and networks, on every number of cores of every cluster
    #[command(after_help = "Example:\n  cargo xtask profile --model resnet50.onnx --budget 30s -o profile.json")]
    Profile(ProfileCommand),
    /// Fit cost models to a profile and show how well they predict
    #[command(
        after_help = "Example:\n  cargo xtask fit --profile profile.json --compare -o cost.json\n  cargo xtask fit --profile profile.json --accelerator phases.csv --board board.json -o cost.json"
    )]
    Fit(FitCommand),
    /// Make cost models of a board that is not here from what others published
    #[command(
        after_help = "Example:\n  cargo xtask calibrate --board hikey-970 --measurements fixtures/measurements/hikey-970.json -o cost.json\n  cargo xtask schedule --board hikey-970 --cost cost.json --model zoo:resnet50"
    )]
    Calibrate(CalibrateCommand),
    /// Find the best pipeline for a network on this board
    #[command(
        after_help = "Example:\n  cargo xtask schedule --model zoo:googlenet --objective balanced -o schedule.json\n  cargo xtask schedule --model zoo:googlenet --board board.json --cost cost.json --algorithm all"
    )]
    Schedule(ScheduleCommand),
    /// Check what is proven of a schedule, without searching
    #[command(
        after_help = "Example:\n  cargo xtask schedule --model zoo:googlenet --certificate certificate.json\n  cargo xtask certify --certificate certificate.json"
    )]
    Certify(CertifyCommand),
    /// Stream frames through a schedule and check the results
    #[command(
        after_help = "Example:\n  cargo xtask run --schedule schedule.json --frames 200 --trace trace.json\n  cargo xtask run --model my.onnx --input photo.jpg --output results\n  cargo xtask run --input frames --frame-rate 30 --when-late drop-oldest --deadline 50ms --csv frames.csv"
    )]
    Run(RunCommand),
    /// Copy a package and a network to a board, measure, plan and run there, and bring the reports back
    #[cfg(unix)]
    #[command(
        after_help = "Example:\n  cargo xtask package --target aarch64\n  cargo xtask deploy me@board --model my.onnx --output from-board"
    )]
    Deploy(DeployCommand),
    /// Search for a better schedule by running schedules while frames flow
    #[command(after_help = "Example:\n  cargo xtask tune --schedule schedule.json --trials 10 -o tuned.json")]
    Tune(TuneCommand),
    /// Simulate frames through a schedule on a board that need not be here
    #[command(
        after_help = "Example:\n  cargo xtask simulate --schedule schedule.json --board board.json --cost cost.json --frames 1000"
    )]
    Simulate(SimulateCommand),
    /// Measure our schedules beside plain ONNX Runtime and OpenVINO, in one interleaved run
    #[command(
        after_help = "Example:\n  cargo xtask compare --model zoo:resnet50 --model zoo:googlenet --slow-core 1:3"
    )]
    Compare(CompareCommand),
    /// Measure how one session of plain ONNX Runtime had best be set up here: threads, where they are pinned, how they wait
    #[command(after_help = "Example:\n  cargo xtask session-options --model my.onnx --json")]
    SessionOptions(SessionOptionsCommand),
    #[cfg(feature = "highs")]
    /// Compute a paper's tables and figures beside the printed numbers, and say what holds and what misses
    #[command(
        after_help = "Example:\n  cargo xtask reproduce co-scheduling --figures figures\n  cargo xtask reproduce --all --html papers.html"
    )]
    Reproduce(ReproduceCommand),
    /// Write manual pages and completions of shells into a folder, laid out as below `share`
    #[command(hide = true)]
    Manual(ManualCommand),
    /// Write the JSON Schemas of all file formats into a folder
    #[command(hide = true)]
    Schemas(SchemasCommand),
}

/// Which machine.
#[derive(Debug, Clone, Args)]
pub(crate) struct BoardArguments {
    /// A board file, or the name of a built-in board, instead of what is detected
    #[arg(long, value_name = "FILE|NAME")]
    pub(crate) board: Option<PathBuf>,
    /// What computes on the cores: onnxruntime, openvino, a provider that the board file names, or several with commas between them (or
    /// 'all', the first two): then each stage has the quicker one [default: what a schedule was planned for, or the board file says, else onnxruntime]
    #[arg(long, value_name = "NAMES")]
    pub(crate) engine: Option<EngineSet>,
}

impl BoardArguments {
    /// With the files that a command names.
    pub(crate) fn named(&self, files: NamedFiles) -> NamedFiles {
        files.reads("--board", self.board.as_deref())
    }
}

#[derive(Debug, Args)]
pub(crate) struct CertifyCommand {
    #[command(flatten)]
    pub(crate) scheduled: ScheduledArguments,
    /// The certificate
    #[arg(long, value_name = "FILE", default_value = "certificate.json")]
    pub(crate) certificate: PathBuf,
    /// The system that it was made for: a system file, or the name of a built-in system
    #[arg(long, value_name = "FILE|NAME", conflicts_with_all = ["board", "engine", "profile", "cost"])]
    pub(crate) system: Option<PathBuf>,
    /// The profile that the schedule was made from; without it, the cached one is used
    #[arg(long, value_name = "FILE")]
    pub(crate) profile: Option<PathBuf>,
    /// The cost models that it was made from, or the name of a built-in board, instead of a profile
    #[arg(long, value_name = "FILE|NAME", conflicts_with = "profile")]
    pub(crate) cost: Option<PathBuf>,
    /// Print the certificate as JSON if it holds
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which network, and what its open dimensions are.
#[derive(Debug, Clone, Args)]
pub(crate) struct ModelArguments {
    /// An ONNX file, or zoo:NAME for a built-in network [default: zoo:squeezenet]
    #[arg(long, value_name = "FILE|zoo:NAME")]
    pub(crate) model: Option<String>,
    #[command(flatten)]
    pub(crate) dimensions: DimensionArguments,
}

/// The network of a schedule, and what its open dimensions are.
#[derive(Debug, Clone, Args)]
pub(crate) struct ScheduledModelArguments {
    /// An ONNX file, or zoo:NAME for a built-in network [default: what the schedule names]
    #[arg(long, value_name = "FILE|zoo:NAME")]
    pub(crate) model: Option<String>,
    #[command(flatten)]
    pub(crate) dimensions: DimensionArguments,
}

/// What open dimensions are.
#[derive(Debug, Clone, Args)]
pub(crate) struct DimensionArguments {
    /// Size of an open batch dimension [default: 1]
    #[arg(long, value_name = "SIZE", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) batch: Option<u32>,
    /// Size of another open dimension, by its name or by input and position, such as image.2; may be repeated. `schedule` takes
    /// several sizes, as in sequence=32,64,128, and makes a plan for each
    #[arg(long = "dim", value_name = "NAME=SIZE", value_parser = parse_dimension)]
    pub(crate) dimensions: Vec<(String, Vec<usize>)>,
    /// Read weights also where files beside the model are links to outside its folder, as caches have them; only for models that
    /// you trust
    #[arg(long)]
    linked_weights: bool,
    /// The most weights that are read of files beside the model, in GiB [default: 16]
    #[arg(long, value_name = "GIB", value_parser = clap::value_parser!(u64).range(1..1 << 20))]
    max_weights: Option<u64>,
}

/// So many plans are made at the most.
const MOST_SIZES: usize = 64;

impl DimensionArguments {
    /// Every dimension with its only size.
    pub(crate) fn single(&self) -> Result<Vec<(String, usize)>> {
        let mut combinations = self.combinations()?;
        match combinations.pop().filter(|_| combinations.is_empty()) {
            Some(sizes) => Ok(sizes),
            None => bail!("only `schedule` takes several sizes of a dimension; give --dim one size each"),
        }
    }

    /// The same as flags, for a command that runs elsewhere.
    #[cfg(unix)]
    pub(crate) fn flags(&self) -> Vec<String> {
        let sizes = |sizes: &[usize]| sizes.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
        let dimensions = self.dimensions.iter().map(|(name, own)| format!("--dim={name}={}", sizes(own)));
        let batch = self.batch.map(|batch| format!("--batch={batch}"));
        let weights = self.max_weights.map(|gib| format!("--max-weights={gib}"));
        batch.into_iter().chain(dimensions).chain(weights).collect()
    }

    /// How a network is read whose dimensions have one size each.
    pub(crate) fn read_options(&self) -> Result<ReadOptions> {
        Ok(self.options_for(self.single()?))
    }

    /// How a network is read, for every combination of sizes.
    pub(crate) fn all_read_options(&self) -> Result<Vec<ReadOptions>> {
        Ok(self.combinations()?.into_iter().map(|sizes| self.options_for(sizes)).collect())
    }

    fn options_for(&self, sizes: Vec<(String, usize)>) -> ReadOptions {
        let batch = self.batch.unwrap_or(1) as usize;
        let options = ReadOptions::default().with_batch(batch).with_dimensions(sizes);
        let most_weight_bytes = self.max_weights.map_or(options.most_weight_bytes, |gib| gib << 30);
        options.with_most_weight_bytes(most_weight_bytes).with_linked_weights(self.linked_weights)
    }

    /// Every combination of sizes.
    fn combinations(&self) -> Result<Vec<Vec<(String, usize)>>> {
        let mut combinations = vec![Vec::new()];
        for (name, sizes) in &self.dimensions {
            let with_size = |known: &Vec<(String, usize)>| {
                let known = known.clone();
                sizes.iter().map(move |&size| [known.as_slice(), &[(name.clone(), size)]].concat()).collect::<Vec<_>>()
            };
            combinations = combinations.iter().flat_map(with_size).collect();
            if combinations.len() > MOST_SIZES {
                bail!("--dim asks for more than {MOST_SIZES} combinations of sizes");
            }
        }
        Ok(combinations)
    }
}

/// The network of a schedule that is of one network only, for what is asked about several boards.
pub(crate) fn only(set: &[Scheduled]) -> Result<&Scheduled> {
    match set {
        [only] => Ok(only),
        _ => bail!("a system runs one network; the schedule file has several"),
    }
}

impl BoardArguments {
    /// The board of the file, or the machine at hand.
    pub(crate) fn machine(&self) -> Result<Machine> {
        let machine = match &self.board {
            Some(path) => Machine::read(path)?,
            None => Machine::detect()?,
        };
        self.with_engine(machine)
    }

    /// A machine with the engine that was asked for. Devices of that engine are taken in, unless a file says what there is.
    pub(crate) fn with_engine(&self, machine: Machine) -> Result<Machine> {
        let machine = match (&self.engine, &self.board) {
            (None, _) => machine,
            (Some(engines), None) if engines.contains(EngineName::OpenVino) => {
                machine.with_openvino_devices()?.with_engines(engines.clone())
            }
            (Some(engines), _) => machine.with_engines(engines.clone()),
        };
        if let Some(engines) = &self.engine {
            machine.board().check_engines(engines)?;
        }
        Ok(machine)
    }
}

/// Costs from a file of cost models or from a profile, if one is named.
pub(crate) fn cost_source<'a>(models: Option<&'a Path>, profile: Option<&'a Path>) -> Option<CostSource<'a>> {
    models.map(CostSource::Models).or(profile.map(CostSource::Profile))
}

/// The models that were asked for: `zoo:all` stands for the whole zoo.
pub(crate) fn sources(models: &[String]) -> Vec<String> {
    let of = |model: &String| match model.as_str() {
        "zoo:all" => millstream_zoo::names().map(|name| format!("zoo:{name}")).collect(),
        other => vec![other.to_owned()],
    };
    models.iter().flat_map(of).collect()
}

#[derive(Debug, Args)]
pub(crate) struct BoardCommand {
    #[command(flatten)]
    pub(crate) board: BoardArguments,
    /// Take graphics devices in as well that the CPU's own cores emulate, for tests
    #[arg(long, conflicts_with = "board")]
    pub(crate) software_gpu: bool,
    /// Print a board file
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct BoardsCommand {
    /// Print them as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ProfileCommand {
    /// A network to measure beside the sweep: an ONNX file, zoo:NAME, or zoo:all; may be repeated
    #[arg(long = "model", value_name = "FILE|zoo:NAME")]
    pub(crate) models: Vec<String>,
    #[command(flatten)]
    pub(crate) dimensions: DimensionArguments,
    #[command(flatten)]
    pub(crate) board: BoardArguments,
    /// Time for measuring, such as 30s or 2m, shared equally by the sweep and the models
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub(crate) budget: Budget,
    #[command(flatten)]
    pub(crate) inputs: InputArguments,
    /// Measure only the models given, not the sweep that costs of other networks are fitted to
    #[arg(long)]
    pub(crate) no_sweep: bool,
    /// Go on with what the output file has already
    #[arg(long)]
    pub(crate) resume: bool,
    /// Where to write the profile
    #[arg(short, long, value_name = "FILE", default_value = "profile.json")]
    pub(crate) output: PathBuf,
    /// Print the profile to standard output as well
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct FitCommand {
    /// The profile to learn from
    #[arg(long, value_name = "FILE", default_value = "profile.json")]
    pub(crate) profile: PathBuf,
    /// What predicts convolutions: our model, or Pipe-it's regression on the dimensions of their matrix product and its model of
    /// several cores (Wang et al., TCAD 2020, equations 3 to 8)
    #[arg(long, value_enum, value_name = "MODEL", default_value_t = ConvolutionModel::Default)]
    pub(crate) convolutions: ConvolutionModel,
    #[command(flatten)]
    pub(crate) accelerator: AcceleratorArguments,
    /// Where to write the models
    #[arg(short, long, value_name = "FILE", default_value = "cost.json")]
    pub(crate) output: PathBuf,
    /// Where to draw predicted against measured times, as SVG [default: beside the models]
    #[arg(long, value_name = "FILE")]
    pub(crate) plot: Option<PathBuf>,
    /// Compare the published models with ours, by cross-validation over networks
    #[arg(long)]
    pub(crate) compare: bool,
    /// A second profile of the board: predict its networks, of which the models know nothing
    #[arg(long, value_name = "FILE")]
    pub(crate) test: Option<PathBuf>,
    /// Print the models as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What predicts convolutions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ConvolutionModel {
    /// Non-negative least squares over amounts of work
    Default,
    /// Equations 5 and 8; where they predict less than nothing, our model
    PipeIt,
}

/// An accelerator that was measured by other means.
#[derive(Debug, Args)]
pub(crate) struct AcceleratorArguments {
    /// Phases of convolutions that were measured on an accelerator: fit the co-scheduling paper's equations 2 to 9 to them
    /// (Kim et al., IEEE Access 2020), for the board's convolutions there. A CSV table with the columns input_elements (all
    /// input maps), filter_elements (height x width x input channels), output_elements (one output map), filters (output
    /// channels), computation_seconds, transfer_seconds; flush_seconds and invalidation_seconds unless the interconnect keeps
    /// caches coherent; and, if you like, normalisation_elements, total_seconds, name
    #[arg(id = "accelerator", long = "accelerator", value_name = "CSV")]
    pub(crate) phases: Option<PathBuf>,
    /// For --accelerator: the board file that has the accelerator with its processing_elements [default: the profile's board]
    #[arg(long, value_name = "FILE", requires = "accelerator")]
    pub(crate) board: Option<PathBuf>,
    /// For --accelerator: its label [default: the board's only one]
    #[arg(long, value_name = "LABEL", requires = "accelerator")]
    pub(crate) label: Option<String>,
    /// For --accelerator: it computes while data is moved, so that the longer of the two counts
    #[arg(long, requires = "accelerator")]
    pub(crate) double_buffering: bool,
    /// For --accelerator: cost models of the board's cores to add the accelerator to, instead of fitting a profile
    #[arg(long, value_name = "FILE", requires = "accelerator", conflicts_with_all = ["profile", "convolutions", "compare", "test", "plot"])]
    pub(crate) base: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct CalibrateCommand {
    /// The board file, or the name of a built-in board
    #[arg(long, value_name = "FILE|NAME")]
    pub(crate) board: PathBuf,
    /// What was published: throughputs of whole networks on single clusters, coefficients, power
    #[arg(long, value_name = "FILE")]
    pub(crate) measurements: PathBuf,
    /// Where to write the cost models
    #[arg(short, long, value_name = "FILE", default_value = "cost.json")]
    pub(crate) output: PathBuf,
    /// Print how well the models fit as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which schedule, and what it is for.
#[derive(Debug, Clone, Args)]
pub(crate) struct ScheduledArguments {
    /// The schedule
    #[arg(long, value_name = "FILE", default_value = "schedule.json")]
    pub(crate) schedule: PathBuf,
    #[command(flatten)]
    pub(crate) model: ScheduledModelArguments,
    #[command(flatten)]
    pub(crate) board: BoardArguments,
}

impl ScheduledArguments {
    /// The files that are read.
    pub(crate) fn named(&self) -> NamedFiles {
        let files = NamedFiles::default().reads("--schedule", [self.schedule.as_path()]);
        self.board.named(files.reads_models(self.model.model.as_deref()))
    }
}

#[derive(Debug, Args)]
pub(crate) struct CompareCommand {
    /// An ONNX file, zoo:NAME, or zoo:all; may be repeated [default: zoo:squeezenet]
    #[arg(long = "model", value_name = "FILE|zoo:NAME")]
    pub(crate) models: Vec<String>,
    #[command(flatten)]
    pub(crate) dimensions: DimensionArguments,
    #[command(flatten)]
    pub(crate) board: BoardArguments,
    #[command(flatten)]
    pub(crate) inputs: InputArguments,
    /// Make a core so many times slower: by real-time pulses where the system allows them, else by busy loops, which need a whole factor; may be repeated
    #[arg(long = "slow-core", value_name = "CPU:FACTOR", value_parser = parse_slow_core)]
    pub(crate) slow_cores: Vec<SlowCore>,
    /// Rounds in which every contender takes part
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rounds: u32,
    /// Time for profiling each network, such as 30s
    #[arg(long, value_name = "TIME", default_value = "20s")]
    pub(crate) budget: Budget,
    /// Write a page for browsers with everybody beside each other, and what our schedules are
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Print the results as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SessionOptionsCommand {
    #[command(flatten)]
    pub(crate) model: ModelArguments,
    #[command(flatten)]
    pub(crate) inputs: InputArguments,
    /// Make a core so many times slower, as for compare; may be repeated
    #[arg(long = "slow-core", value_name = "CPU:FACTOR", value_parser = parse_slow_core)]
    pub(crate) slow_cores: Vec<SlowCore>,
    /// Rounds in which every way to set up a session takes part
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rounds: u32,
    /// Print the best options, and what was measured, as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[cfg(feature = "highs")]
#[derive(Debug, Args)]
pub(crate) struct ReproduceCommand {
    /// Which paper: co-scheduling, granularity, para-pipe, pipe-it, pipe-search or shisha
    #[arg(required_unless_present = "all")]
    pub(crate) paper: Option<Paper>,
    /// Everything; without a paper, of all papers, which takes some minutes
    #[arg(long, conflicts_with_all = ["table", "figure"])]
    pub(crate) all: bool,
    /// Only the table of this number
    #[arg(long, value_name = "NUMBER")]
    pub(crate) table: Option<u32>,
    /// Only the figure of this number
    #[arg(long, value_name = "NUMBER")]
    pub(crate) figure: Option<u32>,
    /// A folder to draw the figures into, as SVG
    #[arg(long, value_name = "FOLDER")]
    pub(crate) figures: Option<PathBuf>,
    /// Where to write a page for browsers with all tables, notes and figures
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Print all claims and checks as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ManualCommand {
    /// Where to write them
    pub(crate) folder: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct SchemasCommand {
    /// Where to write them
    pub(crate) folder: PathBuf,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_is_sound() {
        Arguments::command().debug_assert();
    }
}
