//! Flags of `calibrate`: a board, published measurements of it, and the cost models to write.

use std::path::PathBuf;

use clap::Args;

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
