//! Faults in board files, and processors or engines that a board does not have.

use thiserror::Error;

use crate::core_id::CoreId;
use crate::engine_label::EngineLabel;

/// Why a board could not be read, or why something does not fit it.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BoardError {
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
    #[error(
        "board '{board}' has no cluster or accelerator '{cluster}'; it has {}; what was planned for another board needs that one and its engines, and if a device is gone, look at its driver, or plan without it",
        clusters.join(", ")
    )]
    UnknownCluster {
        /// The board.
        board: String,
        /// The cluster asked for.
        cluster: String,
        /// The clusters and accelerators that it has.
        clusters: Vec<String>,
    },
    /// A cluster has no engine, or one twice.
    #[error("engines [{}]: give at least one, and each once", engines.join(", "))]
    Engines {
        /// What was given.
        engines: Vec<String>,
    },
    /// Where names of engines should be, one is missing.
    #[error("'{text}' leaves out the name of an engine: give at least one, with commas between several")]
    NoEngineName {
        /// What was given.
        text: String,
    },
    /// A processor has an engine that its cluster has not.
    #[error(
        "cluster '{cluster}' of board '{board}' does not compute with {engine}, only with {engines}; plan for the engines that it has, or name {engine} as one of them"
    )]
    OtherEngine {
        /// The board.
        board: String,
        /// The cluster.
        cluster: String,
        /// The processor's engine.
        engine: crate::EngineName,
        /// Those of the cluster.
        engines: crate::EngineSet,
    },
    /// A board has no engine of this name.
    #[error(
        "board '{board}' has no engine '{engine}', only {}; a provider of ONNX Runtime becomes one in `providers` of a board file, which then has to be given as the board",
        engines.join(", ")
    )]
    UnknownEngine {
        /// The board.
        board: String,
        /// The name.
        engine: String,
        /// Those that it has.
        engines: Vec<String>,
    },
    /// A board file gives an engine a name that it can't have.
    #[error(
        "'{label}' can't be the name of an engine: that is a letter, then letters or digits, at most 24{}",
        of_provider(label)
    )]
    EngineLabel {
        /// The name.
        label: String,
    },
    /// No provider can have this name.
    #[error("'{}' can't be the name of an execution provider; ONNX Runtime's are such as QNNExecutionProvider", name.escape_default())]
    ProviderName {
        /// The name.
        name: String,
    },
    /// A core does not exist, belongs to another cluster, or may not be used by this process.
    #[error(
        "core {core} does not belong to cluster '{cluster}' of board '{board}', or this process may not use it; cluster '{cluster}' has the cores {}",
        listed(cores)
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

fn listed(cores: &[CoreId]) -> String {
    cores.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// What an engine is called that has ONNX Runtime's name of a provider.
fn of_provider(name: &str) -> String {
    match EngineLabel::of_provider(name) {
        Some(label) => format!("; what ONNX Runtime calls {name} is {label} here"),
        None => String::new(),
    }
}
