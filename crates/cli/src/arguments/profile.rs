//! Flags of `profile`: networks, the machine, the time for measuring, and the file to write or resume.

use std::path::PathBuf;

use clap::Args;

use super::{BoardArguments, DimensionArguments, InputArguments};
use crate::duration::Budget;

#[derive(Debug, Args)]
pub(crate) struct ProfileCommand {
    /// A network to measure beside the sweep: an ONNX file, zoo:NAME, or zoo:all; may be repeated
    #[arg(long = "model", value_name = "FILE|zoo:NAME")]
    pub(crate) models: Vec<String>,
    #[command(flatten)]
    pub(crate) dimensions: DimensionArguments,
    #[command(flatten)]
    pub(crate) board: BoardArguments,
    /// Time for measuring, such as 30s or 2m, shared equally by the sweep and the models; preparing them for each engine
    /// comes on top
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
