//! Flags of `compare`: networks, the machine, slow cores, and the length of the measurement.

use std::path::PathBuf;

use clap::Args;
use millstream::{SlowCore, TURN};

use super::slow_core::parse_slow_core;
use super::values::{parse_count, parse_turn};
use super::{BoardArguments, DimensionArguments, InputArguments};
use crate::duration::Budget;

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
    /// Slow a core down by a factor: by real-time pulses where the system allows them, else by busy loops, which need a
    /// whole factor; may be repeated
    #[arg(long = "slow-core", value_name = "CPU:FACTOR", value_parser = parse_slow_core, help_heading = "Measuring")]
    pub(crate) slow_cores: Vec<SlowCore>,
    /// Rounds in which every contender takes part
    #[arg(long, default_value_t = 7, value_parser = parse_count::<u32>, help_heading = "Measuring")]
    pub(crate) rounds: u32,
    /// The shortest turn in a round, from 100ms; eight frames of our slowest schedule in any case
    #[arg(long, value_name = "TIME", value_parser = parse_turn, default_value_t = Budget(TURN), help_heading = "Measuring")]
    pub(crate) turn: Budget,
    /// Time for profiling each network, such as 30s
    #[arg(long, value_name = "TIME", default_value = "20s", help_heading = "Measuring")]
    pub(crate) budget: Budget,
    /// Write a page for browsers with all contenders, and what our schedules are
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub(crate) html: Option<PathBuf>,
    /// Print the results as JSON
    #[arg(long, help_heading = "Results")]
    pub(crate) json: bool,
}
