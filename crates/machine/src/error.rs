//! Failures of detection: no usable core, or an impossible description of them.

use std::path::PathBuf;

use millstream_board::{BoardError, CoreId};
use thiserror::Error;

/// Why this computer could not be described.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MachineError {
    /// No usable core was found.
    #[error("no usable CPU core found under {}{}", root.display(), if allowed.is_empty() { String::new() } else { format!(" among the cores {allowed:?} that this process may use") })]
    NoCores {
        /// The sysfs tree.
        root: PathBuf,
        /// The cores that the process may use; empty if unrestricted.
        allowed: Vec<CoreId>,
    },
    /// The operating system does not tell which cores this process may use.
    #[error("cannot find out which CPU cores this process may use")]
    NoAffinity,
    /// A quota leaves no processor time at all.
    #[error("{} allows no processor time; give this container's control group some, or remove the limit", file.display())]
    NoProcessorTime {
        /// What says so.
        file: PathBuf,
    },
    /// The system describes its cores in an impossible way.
    #[error("the system's description of its processors is impossible: {0}")]
    Board(#[from] BoardError),
}
