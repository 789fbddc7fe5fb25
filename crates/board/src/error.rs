use std::path::PathBuf;

use thiserror::Error;

use crate::CoreId;

/// Why a board could not be detected or read, or why something does not fit it.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BoardError {
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
    /// A board document is not readable.
    #[error("not a board file: {detail}")]
    Malformed {
        /// What is wrong, with line and column where known.
        detail: String,
    },
    /// A board document says something impossible.
    #[error("{field}: {detail}")]
    Invalid {
        /// The field, as a path into the document.
        field: String,
        /// What is wrong with it and what would be right.
        detail: String,
    },
    /// A processor names a cluster that the board does not have.
    #[error("board '{board}' has no cluster '{cluster}'; it has {}", clusters.join(", "))]
    UnknownCluster {
        /// The board.
        board: String,
        /// The cluster asked for.
        cluster: String,
        /// The clusters it has.
        clusters: Vec<String>,
    },
    /// A core does not exist, belongs to another cluster, or may not be used by this process.
    #[error(
        "core {core} does not belong to cluster '{cluster}' of board '{board}', or this process may not use it; cluster '{cluster}' has the cores {cores:?}"
    )]
    UnknownCore {
        /// The board.
        board: String,
        /// The cluster.
        cluster: String,
        /// The core asked for.
        core: CoreId,
        /// The cores that the cluster has.
        cores: Vec<CoreId>,
    },
}
