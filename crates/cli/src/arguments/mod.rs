//! Every command, flag and help text: a file for each command, and one for each group of flags that several have.

mod algorithm;
mod board;
mod calibrate;
mod certify;
mod compare;
#[cfg(unix)]
mod deploy;
mod fit;
mod input;
mod model;
mod objective;
mod profile;
#[cfg(feature = "highs")]
mod reproduce;
mod run;
mod schedule;
mod scheduled;
mod session_options;
mod simulate;
mod slow_core;
mod tune;
mod values;
mod written;

use std::path::Path;

use anyhow::{Result, bail};
use clap::{Parser, Subcommand};
use millstream::{CostSource, Scheduled};

pub(crate) use algorithm::Algorithm;
pub(crate) use board::{BoardArguments, BoardCommand, BoardsCommand};
pub(crate) use calibrate::CalibrateCommand;
pub(crate) use certify::CertifyCommand;
pub(crate) use compare::CompareCommand;
#[cfg(unix)]
pub(crate) use deploy::DeployCommand;
pub(crate) use fit::{AcceleratorArguments, ConvolutionModel, FitCommand};
pub(crate) use input::InputArguments;
pub(crate) use model::{DimensionArguments, ModelArguments, ScheduledModelArguments};
pub(crate) use profile::ProfileCommand;
#[cfg(feature = "highs")]
pub(crate) use reproduce::ReproduceCommand;
pub(crate) use run::RunCommand;
pub(crate) use schedule::{ScheduleCommand, quoted};
pub(crate) use scheduled::ScheduledArguments;
pub(crate) use session_options::SessionOptionsCommand;
pub(crate) use simulate::SimulateCommand;
pub(crate) use tune::TuneCommand;
pub(crate) use written::{ManualCommand, SchemasCommand};

/// The model that commands take when none is given.
pub(crate) const DEFAULT_MODEL: &str = "zoo:squeezenet";

/// Plan and run ONNX networks on all processors of a board.
#[derive(Debug, Parser)]
#[command(name = "millstream", version, propagate_version = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,

    /// Say more about what happens (-v, -vv; of one crate: MILLSTREAM_LOG=millstream_runtime=debug)
    #[arg(short, long, global = true, action = clap::ArgAction::Count, help_heading = "General", display_order = 1000)]
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
    /// Make cost models of a board that you do not have from what others published
    #[command(
        after_help = "Example:\n  cargo xtask calibrate --board hikey-970 --measurements fixtures/measurements/hikey-970.json -o cost.json\n  cargo xtask schedule --board hikey-970 --cost cost.json --model zoo:resnet50"
    )]
    Calibrate(CalibrateCommand),
    /// Compute a schedule for a network, with a bound on how much shorter any period could be by the same costs
    #[command(
        after_help = "Example:\n  cargo xtask schedule --model zoo:googlenet --objective balanced -o schedule.json\n  cargo xtask schedule --model zoo:googlenet --board board.json --cost cost.json --algorithm all"
    )]
    Schedule(ScheduleCommand),
    /// Check what is proven of a schedule, without searching
    #[command(
        after_help = "Example:\n  cargo xtask schedule --model zoo:googlenet --certificate certificate.json\n  cargo xtask certify --certificate certificate.json\n  cargo xtask certify --system robot.json --certificate certificate.json"
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
    /// Find the fastest settings for one session of plain ONNX Runtime here: threads, pinning, spinning
    #[command(after_help = "Example:\n  cargo xtask session-options --model my.onnx --json")]
    SessionOptions(SessionOptionsCommand),
    #[cfg(feature = "highs")]
    /// Compute a paper's tables and figures beside the printed numbers, and say which claims are reproduced and which
    /// are not
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

/// The network of a schedule that is of one network only, for what is asked about several boards.
pub(crate) fn only(set: &[Scheduled]) -> Result<&Scheduled> {
    match set {
        [only] => Ok(only),
        _ => bail!("a system runs one network; the schedule file has several"),
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

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_is_sound() {
        Arguments::command().debug_assert();
    }
}
