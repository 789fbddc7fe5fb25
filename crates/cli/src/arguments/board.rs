//! Flags for the machine that a command is about, and those of `board` and `boards`.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use millstream::{AskedEngines, Machine};

use crate::distinct::NamedFiles;

/// Which machine.
#[derive(Debug, Clone, Args)]
pub(crate) struct BoardArguments {
    /// A board file, or the name of a built-in board, instead of what is detected
    #[arg(long, value_name = "FILE|NAME")]
    pub(crate) board: Option<PathBuf>,
    /// What computes: onnxruntime, openvino (also on the GPUs that it drives), a provider of the library (xnnpack, dnnl,
    /// acl) or of the board file, or several with commas between them (or 'all': onnxruntime, and openvino if it is
    /// here): then each stage has the quicker one. With less precision than the model says: openvinoint8 (quantised
    /// networks with integers), openvinof16, openvinobf16 (with openvino, also on its NPUs) [default: what a schedule was
    /// planned for, or the board file says, else onnxruntime]
    #[arg(long, value_name = "NAMES")]
    pub(crate) engine: Option<AskedEngines>,
}

impl BoardArguments {
    /// With the files that a command names.
    pub(crate) fn named(&self, files: NamedFiles) -> NamedFiles {
        files.reads("--board", self.board.as_deref())
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

    /// A machine with the engine that was asked for. Devices of that engine are taken in, unless a file says what there
    /// is.
    pub(crate) fn with_engine(&self, machine: Machine) -> Result<Machine> {
        Ok(match &self.engine {
            Some(engines) => machine.asked_to_use(engines)?,
            None => machine,
        })
    }
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
