//! Why a schedule can't be used.

use millstream_board::{BoardError, CoreId, DocumentError, ProcessorClass};
use thiserror::Error;

use crate::stage_id::StageId;

/// Why a schedule is not usable.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ScheduleError {
    /// A file of schedules can't be read.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// Two networks were given the same core or accelerator.
    #[error(
        "the schedule of '{network}' uses {unit}, which another network of the file uses as well; schedule them together again"
    )]
    SharedProcessor {
        /// The later of the two networks.
        network: String,
        /// What both use.
        unit: String,
    },
    /// The schedule belongs to another model.
    #[error(
        "the schedule is for the model '{schedule}' (digest {schedule_digest:.12}), not for '{model}' (digest {model_digest:.12}); schedule this model"
    )]
    OtherModel {
        /// Model of the schedule.
        schedule: String,
        /// Its digest.
        schedule_digest: String,
        /// The model at hand.
        model: String,
        /// Its digest.
        model_digest: String,
    },
    /// The schedule belongs to another board.
    #[error(
        "the schedule is for the board '{schedule}' (fingerprint {schedule_fingerprint}), not for '{board}' (fingerprint {board_fingerprint}){}; make a schedule for this board, or take the board that it was made for",
        lacks.as_ref().map_or_else(String::new, |lacks| format!(": {lacks}"))
    )]
    OtherBoard {
        /// Board of the schedule.
        schedule: String,
        /// Its fingerprint.
        schedule_fingerprint: String,
        /// The board at hand.
        board: String,
        /// Its fingerprint.
        board_fingerprint: String,
        /// What the schedule uses and the board does not have, if there is such a thing.
        lacks: Option<String>,
    },
    /// The schedule names an operator that the model does not have.
    #[error("stage {stage} names the operator '{operator}', which the model does not have")]
    UnknownOperator {
        /// The stage.
        stage: StageId,
        /// The operator.
        operator: String,
    },
    /// A constraint of a file makes no sense.
    #[error("constraints.{field}: is {value}, which is no {} 0", if *.field == "margin" { "margin of at least" } else { "limit above" })]
    Constraint {
        /// Its field.
        field: &'static str,
        /// What stands there.
        value: f64,
    },
    /// A processor does not fit the board.
    #[error("stage {stage}: {source}")]
    Processor {
        /// The stage.
        stage: StageId,
        /// What does not fit.
        source: BoardError,
    },
    /// Stages, replicas or processors without content.
    #[error("{what} is empty")]
    Empty {
        /// What is empty, such as `stage 2`.
        what: String,
    },
    /// A core is given away twice.
    #[error("core {core} is used twice, the second time in stage {stage}; processors must have cores of their own")]
    SharedCore {
        /// The core.
        core: CoreId,
        /// The stage.
        stage: StageId,
    },
    /// An accelerator is given away twice.
    #[error(
        "accelerator {accelerator}, or another one that is the same device, is used twice, the second time in stage \
         {stage}; it works for one stage only"
    )]
    SharedAccelerator {
        /// Its label.
        accelerator: String,
        /// The stage.
        stage: StageId,
    },
    /// A split can't be executed.
    #[error("the split of '{operator}' in stage {stage}: {detail}")]
    Split {
        /// The operator that is divided.
        operator: String,
        /// The stage.
        stage: StageId,
        /// What is wrong and what would be right.
        detail: String,
    },
    /// An operator is scheduled in two places, or in one replica of a stage and not in another.
    #[error("operator '{operator}' is scheduled in stage {stage} and elsewhere, or not in all replicas of its stage")]
    Repeated {
        /// The operator.
        operator: String,
        /// The stage.
        stage: StageId,
    },
    /// A value whose type no file tells is handed over.
    #[error(
        "operator '{operator}' of stage {stage} reads a value of unknown type that '{other}' makes: no segment boundary can be placed there; \
         keep both on one processor"
    )]
    Untyped {
        /// The reader.
        operator: String,
        /// The operator that makes the value.
        other: String,
        /// The reader's stage.
        stage: StageId,
    },
    /// A quantised operator is taken apart.
    #[error(
        "operator '{operator}' of stage {stage} and '{other}' before it are one quantised operator: apart they give other results; keep \
         them on one processor"
    )]
    Quantised {
        /// The later one.
        operator: String,
        /// The one before it.
        other: String,
        /// The stage.
        stage: StageId,
    },
    /// The board has too little memory.
    #[error(
        "weights and values of all stages and replicas take {needed_bytes} bytes, and the board has {most_bytes} bytes of memory; schedule again \
         on this board, which finds fewer replicas or stages"
    )]
    Memory {
        /// What the schedule holds at once.
        needed_bytes: u64,
        /// What the board has.
        most_bytes: u64,
    },
    /// An accelerator has too little memory of its own.
    #[error(
        "weights and values of what {accelerator} runs take {needed_bytes} bytes, and it has {most_bytes} bytes of memory; schedule again on \
         this board, which gives it less"
    )]
    AcceleratorMemory {
        /// Its label.
        accelerator: String,
        /// What its operators hold.
        needed_bytes: u64,
        /// What it has.
        most_bytes: u64,
    },
    /// Operators that no stage runs.
    #[error("no stage runs the operator '{operator}'")]
    Missing {
        /// The first of them.
        operator: String,
    },
    /// Only a part of an operator stands among operators that can't be apart.
    #[error(
        "operator '{operator}'{} is divided, but stands among operators that a processor runs without waiting in between: have one processor \
         run it whole, or list it before them",
        stage.map_or(String::new(), |stage| format!(" of stage {stage}"))
    )]
    Interrupted {
        /// The operator.
        operator: String,
        /// Stage, counted from 1, where it is known.
        stage: Option<StageId>,
    },
    /// An operator runs before something that it needs.
    #[error(
        "operator '{operator}'{} can never start: it needs the result of '{needs}', which runs later",
        stage.map_or(String::new(), |stage| format!(" of stage {stage}"))
    )]
    Order {
        /// The operator.
        operator: String,
        /// Stage, counted from 1, where it is known.
        stage: Option<StageId>,
        /// What it waits for.
        needs: String,
    },
    /// A stage is on several hosts of a system.
    #[error("stage {stage} has processors of several hosts; all replicas of a stage live on one host")]
    SeveralHosts {
        /// The stage.
        stage: StageId,
    },
    /// Frames would have to go where there is no link.
    #[error(
        "frames come to stage {stage} from '{from}' to '{to}', and the system has no link between the two; add one to the system file, or \
         schedule again"
    )]
    NoLink {
        /// The stage.
        stage: StageId,
        /// The host that would send.
        from: String,
        /// The host that would receive.
        to: String,
    },
    /// The cost table has no entry for what the schedule does.
    #[error("operator '{operator}' can't run on {class}, or its cost there is not known")]
    Unsupported {
        /// The operator.
        operator: String,
        /// The processor class.
        class: ProcessorClass,
    },
}

impl ScheduleError {
    /// This error with its stage, where it names one and does not know which yet.
    #[must_use]
    pub fn in_stage(self, stage: StageId) -> Self {
        match self {
            Self::Order { operator, stage: None, needs } => Self::Order { operator, stage: Some(stage), needs },
            Self::Interrupted { operator, stage: None } => Self::Interrupted { operator, stage: Some(stage) },
            other => other,
        }
    }
}
