//! Flags that commands on an existing schedule share: its file, its network and the machine.

use std::path::PathBuf;

use clap::Args;

use super::{BoardArguments, ScheduledModelArguments};
use crate::distinct::NamedFiles;

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
