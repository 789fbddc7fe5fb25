//! Flags of `session-options`: a network, its frames, slow cores, and the length of the measurement.

use clap::Args;
use millstream::{SlowCore, TURN};

use super::slow_core::parse_slow_core;
use super::values::{parse_count, parse_turn};
use super::{InputArguments, ModelArguments};
use crate::duration::Budget;

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
    #[arg(long, default_value_t = 5, value_parser = parse_count::<u32>)]
    pub(crate) rounds: u32,
    /// The shortest turn in a round, from 100ms; eight frames of the slowest in any case
    #[arg(long, value_name = "TIME", value_parser = parse_turn, default_value_t = Budget(TURN))]
    pub(crate) turn: Budget,
    /// Print the best options, and what was measured, as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
