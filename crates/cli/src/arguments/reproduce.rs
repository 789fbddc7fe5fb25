//! Flags of `reproduce`: a paper, which of its tables and figures, and where the results go.

use std::path::PathBuf;

use clap::Args;
use millstream_reproduce::Paper;

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
