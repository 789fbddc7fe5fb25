//! Why an engine can't run, and why a frame has no result.

use std::time::Duration;

use millstream_backend::BackendError;
use millstream_board::Processor;
use millstream_schedule::StageId;
use thiserror::Error;

/// Why an engine could not be started or used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RuntimeError {
    /// The schedule has no stages.
    #[error("the schedule has no stages")]
    Empty,
    /// Several processors make a value together of which type or shape are not known.
    #[error("stage {stage} divides an operator whose result has no known type and shape; give it to one processor")]
    UnknownSize {
        /// The stage.
        stage: StageId,
    },
    /// No backend runs a stage's operators.
    #[error(
        "no backend runs the operator '{operator}' of stage {stage} on {processor}: its engine refuses it, or is not used \
         here; give the board or --engine another engine, or plan on measurements of this network, which know what engines \
         refuse"
    )]
    NoBackend {
        /// The operator.
        operator: String,
        /// The stage.
        stage: StageId,
        /// The processor.
        processor: Processor,
    },
    /// A stage needs a value that no earlier stage makes.
    #[error("stage {stage} needs the value '{value}', which no earlier stage makes; validate the schedule first")]
    MissingValue {
        /// The value.
        value: String,
        /// The stage.
        stage: StageId,
    },
    /// A backend could not prepare a stage.
    #[error("stage {stage} on {processor}: {source}")]
    Prepare {
        /// The stage.
        stage: StageId,
        /// The processor.
        processor: Processor,
        /// What the backend said.
        source: BackendError,
    },
    /// A thread could not be started.
    #[error("cannot start a worker thread: {0}")]
    Thread(#[from] std::io::Error),
    /// The planner of [`Engine::tune`](crate::Engine::tune) failed.
    #[error("looking for a better schedule: {0}")]
    Planner(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// All workers of a stage are gone.
    #[error("the engine has stopped, it takes no more frames")]
    Stopped,
}

/// Why one frame has no result.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum FrameError {
    /// The frame does not have one tensor per input of the network.
    #[error("the frame has {found} tensors, the network has {expected} inputs")]
    InputCount {
        /// Inputs of the network.
        expected: usize,
        /// Tensors of the frame.
        found: usize,
    },
    /// A tensor of the frame has another type or shape than the network's input.
    #[error("input '{value}' must be {expected}, but the frame has {found}")]
    Input {
        /// The input.
        value: String,
        /// Type and shape that it must have.
        expected: String,
        /// Type and shape that it has.
        found: String,
    },
    /// A stage failed on this frame.
    #[error("stage {stage}: {source}")]
    Stage {
        /// The stage.
        stage: StageId,
        /// What the backend said.
        source: BackendError,
    },
    /// A stage's worker panicked on this frame.
    #[error("the worker of stage {stage} panicked: {message}")]
    Panicked {
        /// The stage.
        stage: StageId,
        /// The panic's message.
        message: String,
    },
    /// A stage worked on this frame for longer than
    /// [`EngineOptions::frame_timeout`](crate::EngineOptions::frame_timeout).
    #[error("stage {stage} did not end the frame within {limit:?}")]
    TimedOut {
        /// The stage.
        stage: StageId,
        /// How long a stage may take.
        limit: Duration,
    },
    /// All replicas of a stage panicked, lost their device or got stuck, so often that frames no longer wait until one
    /// works again ([`EngineOptions::restarts`](crate::EngineOptions::restarts)).
    #[error(
        "stage {stage} has no replica that works: all were lost, too often to wait for one, or can't be started again"
    )]
    Lost {
        /// The stage.
        stage: StageId,
    },
}
