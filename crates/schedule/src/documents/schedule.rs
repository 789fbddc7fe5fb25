//! The file form of a schedule.

use millstream_board::{Board, Document, Engines, Provenance, read_document};
use millstream_cost::Clocks;
use millstream_graph::Graph;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::constraints::StatedConstraints;
use crate::documents::prediction::Prediction;
use crate::documents::stages::{StageDocument, from_stages};
use crate::error::ScheduleError;
use crate::objective::Objective;
use crate::schedule::Schedule;

/// The `format` of schedule files.
pub const SCHEDULE_FORMAT: &str = "millstream-schedule";
/// The `version` of schedule files that is written and read.
pub const SCHEDULE_VERSION: u32 = 1;

/// A schedule as it stands in a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScheduleDocument {
    /// Always `millstream-schedule`.
    pub format: String,
    /// Version of the format.
    pub version: u32,
    /// Where it comes from.
    pub provenance: Provenance,
    /// The model that it is for.
    pub model: ModelReference,
    /// The board that it is for.
    pub board: BoardReference,
    /// The search that found it.
    pub algorithm: String,
    /// What it was chosen for.
    pub objective: Objective,
    /// Its stages in short, such as `B4-s2-s2`.
    pub configuration: String,
    /// What it was planned to keep to, if there was anything.
    #[serde(default, skip_serializing_if = "StatedConstraints::is_empty")]
    pub constraints: StatedConstraints,
    /// What it should achieve.
    pub predicted: Prediction,
    /// Clock frequencies in hertz that clusters should have, by their labels; the highest for those that are not named.
    #[serde(default, skip_serializing_if = "Clocks::is_empty")]
    pub clocks: Clocks,
    /// The stages.
    pub stages: Vec<StageDocument>,
}

/// The model that a schedule is for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelReference {
    /// Its name.
    pub name: String,
    /// Where it was read from: a path or `zoo:NAME`.
    pub source: String,
    /// Digest of its content.
    pub digest: String,
    /// Sizes that open dimensions were fixed to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dimensions: Vec<(String, usize)>,
    /// Size that open batch dimensions were fixed to.
    pub batch: usize,
}

/// The board that a schedule is for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BoardReference {
    /// Its name.
    pub name: String,
    /// Its fingerprint.
    pub fingerprint: String,
    /// What computes on the cores of its clusters, by their labels, where it is not the usual engine.
    #[serde(default, skip_serializing_if = "Engines::is_empty")]
    pub engines: Engines,
}

impl BoardReference {
    /// The reference to a board.
    pub fn of(board: &Board) -> Self {
        Self { name: board.name().to_owned(), fingerprint: board.fingerprint(), engines: board.engines() }
    }
}

impl Document for ScheduleDocument {
    const FORMAT: &'static str = SCHEDULE_FORMAT;
    const VERSION: u32 = SCHEDULE_VERSION;
    const NAME: &'static str = "schedule";
}

impl ScheduleDocument {
    /// Reads a schedule file.
    ///
    /// # Errors
    /// [`ScheduleError::Document`] if it is not one.
    pub fn from_json(text: &str) -> Result<Self, ScheduleError> {
        Ok(read_document(text)?)
    }

    /// The schedule, checked against the model and the board that it is to run on.
    ///
    /// # Errors
    /// [`ScheduleError::OtherModel`], [`ScheduleError::OtherBoard`], or whatever [`Schedule::validate`] finds.
    pub fn resolve(&self, graph: &Graph, digest: &str, board: &Board) -> Result<Schedule, ScheduleError> {
        if self.model.digest != digest {
            return Err(ScheduleError::OtherModel {
                schedule: self.model.name.clone(),
                schedule_digest: self.model.digest.clone(),
                model: graph.name().to_owned(),
                model_digest: digest.to_owned(),
            });
        }

        let board_fingerprint = board.fingerprint();
        if self.board.fingerprint != board_fingerprint {
            return Err(ScheduleError::OtherBoard {
                schedule: self.board.name.clone(),
                schedule_fingerprint: self.board.fingerprint.clone(),
                board: board.name().to_owned(),
                board_fingerprint,
                lacks: self.lacked_by(board),
            });
        }

        self.constraints.check()?;
        let schedule = from_stages(&self.stages, graph)?;
        schedule.validate(graph, board)?;
        Ok(schedule)
    }

    /// The first of its engines or processors that a board does not have, as the board says it.
    fn lacked_by(&self, board: &Board) -> Option<String> {
        if let Some(error) = self.board.engines.values().find_map(|engines| board.check_engines(engines).err()) {
            return Some(error.to_string());
        }
        let replicas = self.stages.iter().flat_map(|stage| &stage.replicas);
        let mut processors = replicas.flat_map(|replica| &replica.assignments).map(|assignment| &assignment.processor);
        processors.find_map(|processor| board.check(processor).err()).map(|error| error.to_string())
    }
}
