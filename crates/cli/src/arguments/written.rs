//! Commands that packages are made with.

use std::path::PathBuf;

use clap::Args;

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
