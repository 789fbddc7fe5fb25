//! Everything that can go wrong, and in which file.

use std::path::{Path, PathBuf};

use millstream_backend::BackendError;
use millstream_board::{BoardError, CoreId, DocumentError, Engines};
use millstream_certify::CertifyError;
use millstream_frames::FramesError;
use millstream_machine::MachineError;
use millstream_onnx::OnnxError;
use millstream_pipeline::PipelineError;
use millstream_predict::PredictError;
use millstream_profile::ProfileError;
use millstream_runtime::{FrameError, RuntimeError};
use millstream_schedule::{ModelReference, ScheduleError};
use millstream_sim::SimulationError;
use millstream_tune::TuneError;
use millstream_zoo::ZooError;
use thiserror::Error;

use crate::published_algorithm::PublishedAlgorithm;

/// Errors of the front door.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// Something went wrong with a file.
    #[error("{}", with_file(path, source))]
    File {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        source: Box<Error>,
    },
    /// A file can't be read or written.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was to be done: `read`, `write`.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Why it failed.
        source: std::io::Error,
    },
    /// An ONNX model can't be used.
    #[error(transparent)]
    Onnx(#[from] OnnxError),
    /// A built-in network does not exist or can't be built.
    #[error(transparent)]
    Zoo(#[from] ZooError),
    /// A board can't be used.
    #[error(transparent)]
    Board(#[from] BoardError),
    /// This computer can't be described.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// An engine can't run something.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// Measuring failed.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// Costs can't be derived.
    #[error(transparent)]
    Predict(#[from] PredictError),
    /// There is no schedule to be found.
    #[error(transparent)]
    Pipeline(#[from] PipelineError),
    /// A schedule can't be used.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    /// A document can't be read.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// A pipeline can't run.
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    /// A frame did not get through.
    #[error("the frame '{label}': {source}")]
    Frame {
        /// What the frame is called.
        label: String,
        /// Why it failed.
        source: FrameError,
    },
    /// Frames or results can't be used.
    #[error(transparent)]
    Frames(#[from] FramesError),
    /// A certificate does not hold.
    #[error(transparent)]
    Certificate(#[from] CertifyError),
    /// Searching by trials failed.
    #[error(transparent)]
    Tune(#[from] TuneError),
    /// Simulating failed.
    #[error(transparent)]
    Simulation(#[from] SimulationError),
    /// The caller asked to stop.
    #[error("interrupted; nothing was written")]
    Interrupted,
    /// There was no result at all: no frames, or the caller asked to stop before the first one was through.
    #[error("there was no frame, or it was interrupted before the first one")]
    NoFrame,
    /// The board lacks something that every board should have.
    #[error("the board has no {what}")]
    Incomplete {
        /// What it lacks.
        what: &'static str,
    },
    /// There is neither a file nor a built-in board of a name.
    #[error(
        "there is no file and no built-in {what} '{name}'{}",
        if near.is_empty() { String::new() } else { format!(", did you mean {}?", near.join(", ")) }
    )]
    NotBuiltIn {
        /// What was to be read: `board`, `costs` or `system`.
        what: &'static str,
        /// The name.
        name: String,
        /// Names of built-in boards that come near, the nearest first.
        near: Vec<&'static str>,
    },
    /// The board is another computer, or has cores that this process may not use.
    #[error(
        "core {core} of board '{board}' does not exist on this machine or is outside the cpuset of this process, which may use \
         the cores {}; correct the board file, or detect the board anew", allowed.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    )]
    NotHere {
        /// The core.
        core: CoreId,
        /// The board.
        board: String,
        /// The cores that the process may use.
        allowed: Vec<CoreId>,
    },
    /// No engine runs operators on a processor of the board.
    #[error(
        "nothing here runs operators on {processor} of board '{board}'; simulate the schedule, or take it out of the board file{}",
        feature.map_or_else(String::new, |feature| format!(" (this program was built without the feature `{feature}`)"))
    )]
    NoEngine {
        /// The processor.
        processor: String,
        /// The board.
        board: String,
        /// The cargo feature that brings an engine for it, if one does.
        feature: Option<&'static str>,
    },
    /// A published algorithm can't serve a network on a board.
    #[error("{algorithm} {reason}")]
    Algorithm {
        /// The algorithm.
        algorithm: PublishedAlgorithm,
        /// Why, and what would help.
        reason: String,
    },
    /// A part of the program was left out when it was built.
    #[error("{what} needs the feature `{feature}`, without which this program was built")]
    MissingFeature {
        /// What was asked for.
        what: &'static str,
        /// The cargo feature that brings it.
        feature: &'static str,
    },
    /// There is no profile to take costs from.
    #[error(
        "there is no profile of {} on board '{board}' yet; name cost models or a profile, or measure the network first",
        network.name
    )]
    NoProfile {
        /// The network, where it is from, and the sizes of its open dimensions.
        network: Box<ModelReference>,
        /// The board.
        board: String,
        /// What computes on its cores, by clusters, where it is not the usual engine.
        engines: Engines,
    },
    /// The network needs more memory than there is.
    #[error(
        "{network}: one operator needs {needed_mebibytes} MiB for what it reads or makes, and the machine has {available_mebibytes} MiB left; \
         check the sizes of its open dimensions"
    )]
    OutOfMemory {
        /// Where the network is from.
        network: String,
        /// What the largest operator needs.
        needed_mebibytes: u64,
        /// What the machine has.
        available_mebibytes: u64,
    },
    /// The network refuses a frame.
    #[error("plain inference of the frame '{label}', which results are compared with: {source}")]
    Refused {
        /// What the frame is called.
        label: String,
        /// Why.
        source: BackendError,
    },
    /// A result is not that of sequential inference.
    #[error("the result '{output}' of {frame} differs from sequential inference by {reference}: {detail}")]
    Different {
        /// The network's output.
        output: String,
        /// The frame.
        frame: String,
        /// The engine that computed it sequentially.
        reference: String,
        /// How many elements differ, the worst of them, and what may be the cause.
        detail: String,
    },
    /// A core can't be made slower as it was asked for.
    #[error("the slow core {core}: {problem}")]
    SlowCore {
        /// The core.
        core: CoreId,
        /// Why not, and what to do.
        problem: String,
    },
    /// Frames of a run have no results.
    #[error("{failed} of {frames} frames failed:\n{detail}")]
    FailedFrames {
        /// Frames that failed.
        failed: u64,
        /// All frames.
        frames: u64,
        /// The first of them, a line each.
        detail: String,
    },
    /// Results are not those that were expected.
    #[error("the results of {wrong} of {frames} frames are not those of {}:\n{detail}", expected.display())]
    Unexpected {
        /// Frames with other results.
        wrong: usize,
        /// All frames.
        frames: usize,
        /// Where the expected results are.
        expected: PathBuf,
        /// The first of them, a line each.
        detail: String,
    },
    /// Frames came back in another order than they were submitted in, or with other outputs.
    #[error("{0}; this is a defect of Millstream, please report it")]
    Defect(String),
    /// What was asked for does not fit what there is.
    #[error("{0}")]
    Unfit(String),
    /// A session was closed.
    #[error("the session is closed")]
    Closed,
    /// A frame is submitted after the end of the frames was announced.
    #[error("no frames can be submitted after `end`")]
    Ended,
    /// A session is used in a process that was forked off the one that started it.
    #[error("the session was started in another process, whose threads do not come along; start one here")]
    Forked,
    /// A thread can't be started or pinned.
    #[error("{what}: {source}")]
    Thread {
        /// What it was for.
        what: String,
        /// What the system says.
        source: std::io::Error,
    },
}

/// Kinds of errors, for interfaces that have a number or a class for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The system refused a file.
    File,
    /// What the caller asked for does not fit what there is.
    Unfit,
    /// The library of an engine is missing, or is none.
    Unavailable,
    /// Anything else.
    Other,
}

impl Error {
    /// What kind of error it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Io { .. } | Self::NotBuiltIn { .. } => ErrorKind::File,
            Self::File { source, .. } if is_of_system(&**source) => ErrorKind::File,
            Self::File { source, .. } => source.kind(),
            Self::Unfit(_) => ErrorKind::Unfit,
            Self::Backend(BackendError::Unavailable { .. }) => ErrorKind::Unavailable,
            Self::Zoo(ZooError::Unknown { .. }) => ErrorKind::Unfit,
            Self::Onnx(error) | Self::Zoo(ZooError::Model(error)) if is_of_dimensions(error) => ErrorKind::Unfit,
            Self::Board(error) if is_of_engines(error) => ErrorKind::Unfit,
            Self::Pipeline(PipelineError::Constraint { .. } | PipelineError::Power { .. }) => ErrorKind::Unfit,
            _ => ErrorKind::Other,
        }
    }

    /// The system starts no thread for something.
    pub(crate) fn no_thread(what: &str) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Thread { what: format!("cannot start the thread for {what}"), source }
    }
}

/// An error with the name of its file, once.
fn with_file(path: &Path, error: &Error) -> String {
    let (path, text) = (path.display(), error.to_string());
    if text.contains(&format!(" {path}: ")) { text } else { format!("{path}: {text}") }
}

/// Whether sizes of dimensions were left out, or were given to dimensions that there are not.
fn is_of_dimensions(error: &OnnxError) -> bool {
    matches!(error, OnnxError::OpenDimensions { .. } | OnnxError::UnknownDimensions { .. } | OnnxError::NoBatch { .. })
}

/// Whether engines were named that can't be used.
fn is_of_engines(error: &BoardError) -> bool {
    matches!(
        error,
        BoardError::Engines { .. }
            | BoardError::NoEngineName { .. }
            | BoardError::UnknownEngine { .. }
            | BoardError::EngineLabel { .. }
            | BoardError::ProviderName { .. }
    )
}

/// Whether the system has refused something.
fn is_of_system(error: &(dyn std::error::Error + 'static)) -> bool {
    std::iter::successors(Some(error), |error| error.source()).any(|error| error.is::<std::io::Error>())
}

/// Names the file that something went wrong with.
pub(crate) trait InFile<T> {
    /// The same with the file's name in the error.
    fn in_file(self, path: &Path) -> Result<T, Error>;
}

impl<T, E: Into<Error>> InFile<T> for Result<T, E> {
    fn in_file(self, path: &Path) -> Result<T, Error> {
        self.map_err(|error| Error::File { path: path.to_owned(), source: Box::new(error.into()) })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use millstream_onnx::ReadOptions;

    use super::*;
    use crate::network::Network;
    use crate::session::Limits;

    #[test]
    fn a_file_is_named_once() {
        let folder = std::env::temp_dir();
        let message = Network::open(&folder.display().to_string(), ReadOptions::default()).err().unwrap().to_string();
        assert!(message.starts_with("cannot read "), "{message}");
        assert_eq!(message.matches(&folder.display().to_string()).count(), 1, "{message}");
        let file = Error::File { path: "a.onnx".into(), source: Box::new(Error::Closed) };
        assert_eq!(file.to_string(), format!("a.onnx: {}", Error::Closed));
        let empty = Network::open("", ReadOptions::default()).err().unwrap();
        assert_eq!((empty.kind(), empty.to_string().as_str()), (ErrorKind::Unfit, "the path of the model is empty"));
    }

    #[test]
    fn what_callers_name_wrongly_is_unfit() {
        let kind = |model: &str, options| Network::open(model, options).err().unwrap().kind();
        assert_eq!(kind("zoo:none", ReadOptions::default()), ErrorKind::Unfit);
        let unknown = ReadOptions::default().with_dimensions([("n".to_owned(), 3)]);
        assert_eq!(kind("zoo:squeezenet", unknown), ErrorKind::Unfit);
        let board = || crate::Machine::read(Path::new("khadas-vim3")).unwrap();
        for engines in ["nothing", "onnxruntime,onnxruntime", ""] {
            let refused = board().as_asked(Some(engines), None).err().map(|error| error.kind());
            assert_eq!(refused, Some(ErrorKind::Unfit), "{engines}");
        }

        let costs = crate::PlanOn::Costs(crate::CostSource::Models(Path::new("khadas-vim3")));
        let network = Network::open("zoo:squeezenet", ReadOptions::default()).unwrap();
        let (latency, throughput, power) = (Some(1e-6), Some(1e6), Some(1e-6));
        let limits = [
            Limits { max_latency: latency, ..Limits::default() },
            Limits { min_throughput: throughput, ..Limits::default() },
            Limits { max_power: power, ..Limits::default() },
        ];
        for limits in limits {
            let aim = crate::Aim::named("throughput", limits, 0.0).unwrap();
            let unmet = crate::plan(&board(), &network, &aim, costs, &crate::Control::new()).err().unwrap();
            assert_eq!(unmet.kind(), ErrorKind::Unfit, "{unmet}");
        }
        assert_eq!(Error::Closed.kind(), ErrorKind::Other);
    }
}
