use millstream_board::{Board, Document, Engines, Processor, Provenance, read_document};
use millstream_cost::Clocks;
use millstream_graph::{Along, Graph, OperatorId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Assignment, Energy, Evaluation, Objective, OperatorSplit, Replica, Schedule, ScheduleError, Stage,
    StatedConstraints,
};

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

/// Which model a schedule is for.
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

/// Which board a schedule is for.
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

/// What a schedule should achieve, by the cost table that it was made from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Prediction {
    /// Time between two frames.
    pub period_seconds: f64,
    /// Time of one frame through the pipeline.
    pub latency_seconds: f64,
    /// Whether the numbers are those of trials, or come from what trials showed, rather than from costs alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_measured: bool,
    /// No schedule on the board has a shorter period under the same costs, however operators are placed, replicated or divided.
    pub lower_bound_period_seconds: f64,
    /// What the schedules that were searched can reach at best, where a search has proven that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub searched: Option<SearchedBound>,
    /// Per stage, the time of each replica for a frame.
    pub replica_seconds: Vec<Vec<f64>>,
    /// Energy of a frame, if the power of all its processors is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub joules_per_frame: Option<f64>,
    /// Mean power of its processors, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watts: Option<f64>,
}

/// A period that none of the schedules goes below that a search went through.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchedBound {
    /// The period.
    pub period_seconds: f64,
    /// Which schedules these are, in words.
    pub space: String,
}

/// One stage: per replica, per processor, the operators by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StageDocument {
    /// The replicas.
    pub replicas: Vec<ReplicaDocument>,
}

/// One replica of a stage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplicaDocument {
    /// What each of its processors runs.
    pub assignments: Vec<AssignmentDocument>,
    /// Operators whose output channels or rows several of the processors share.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub splits: Vec<SplitDocument>,
}

/// Operators that several processors share: one divided by channels with those that follow it channel by channel, or several divided by rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SplitDocument {
    /// Names of the operators; every processor that takes part lists them one after the other.
    pub operators: Vec<String>,
    /// Output channels that each of the replica's processors makes, the first channels first; 0 for one that takes no part.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub channels: Vec<usize>,
    /// In place of channels: rows of what the last operator makes that each of the processors makes, the first rows first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<usize>,
}

/// The operators of one processor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AssignmentDocument {
    /// The processor.
    pub processor: Processor,
    /// Names of its operators, in the order in which it runs them.
    pub operators: Vec<String>,
}

impl Prediction {
    /// The prediction that an evaluation amounts to.
    pub fn new(evaluation: &Evaluation, lower_bound_period_seconds: f64) -> Self {
        let seconds = |stage: &crate::StageEvaluation| stage.replica_times.iter().map(|time| time.seconds()).collect();
        Self {
            period_seconds: evaluation.period.seconds(),
            latency_seconds: evaluation.latency.seconds(),
            is_measured: false,
            lower_bound_period_seconds,
            searched: None,
            replica_seconds: evaluation.stages.iter().map(seconds).collect(),
            joules_per_frame: None,
            watts: None,
        }
    }

    /// The predicted time of a replica for a frame, in seconds; both counted from 0. `None` if there is no such replica.
    pub fn replica(&self, stage: usize, replica: usize) -> Option<f64> {
        self.replica_seconds.get(stage)?.get(replica).copied()
    }

    /// The same with what frames cost in energy, where that is known.
    #[must_use]
    pub fn with_energy(self, energy: Option<Energy>) -> Self {
        Self {
            joules_per_frame: energy.map(|energy| energy.joules_per_frame),
            watts: energy.map(|energy| energy.watts),
            ..self
        }
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
}

impl ScheduleDocument {
    /// The first of its engines or processors that a board does not have, as the board says it.
    fn lacked_by(&self, board: &Board) -> Option<String> {
        if let Some(error) = self.board.engines.values().find_map(|engines| board.check_engines(engines).err()) {
            return Some(error.to_string());
        }
        let replicas = self.stages.iter().flat_map(|stage| &stage.replicas);
        let mut processors = replicas.flat_map(|replica| &replica.assignments).map(|own| &own.processor);
        processors.find_map(|processor| board.check(processor).err()).map(|error| error.to_string())
    }
}

impl Schedule {
    /// The stages as they stand in a file.
    pub fn to_stages(&self, graph: &Graph) -> Vec<StageDocument> {
        let names = |ids: &[OperatorId]| ids.iter().map(|&id| graph.operator(id).name.clone()).collect();
        let assignment = |assignment: &Assignment| AssignmentDocument {
            processor: assignment.processor.clone(),
            operators: names(&assignment.operators),
        };
        let split = |split: &OperatorSplit| {
            let shares = |along: Along| if split.along == along { split.shares.clone() } else { Vec::new() };
            SplitDocument {
                operators: names(&split.operators),
                channels: shares(Along::Channels),
                rows: shares(Along::Rows),
            }
        };
        let replica = |replica: &Replica| ReplicaDocument {
            assignments: replica.assignments.iter().map(assignment).collect(),
            splits: replica.splits.iter().map(split).collect(),
        };
        let stage = |stage: &Stage| StageDocument { replicas: stage.replicas.iter().map(replica).collect() };
        self.stages.iter().map(stage).collect()
    }
}

fn from_stages(stages: &[StageDocument], graph: &Graph) -> Result<Schedule, ScheduleError> {
    let ids: std::collections::HashMap<&str, _> =
        graph.operator_ids().map(|id| (graph.operator(id).name.as_str(), id)).collect();
    let find = |stage: usize, name: &String| {
        let unknown = || ScheduleError::UnknownOperator { stage: stage + 1, operator: name.clone() };
        ids.get(name.as_str()).copied().ok_or_else(unknown)
    };

    let mut schedule = Schedule { stages: Vec::with_capacity(stages.len()) };
    for (index, stage) in stages.iter().enumerate() {
        let mut replicas = Vec::with_capacity(stage.replicas.len());
        for replica in &stage.replicas {
            let all = |names: &[String]| names.iter().map(|name| find(index, name)).collect::<Result<Vec<_>, _>>();
            let assignments = replica.assignments.iter().map(|assignment| {
                Ok(Assignment { processor: assignment.processor.clone(), operators: all(&assignment.operators)? })
            });
            let assignments = assignments.collect::<Result<_, ScheduleError>>()?;
            let splits = replica.splits.iter().map(|split| {
                let operators = all(&split.operators)?;
                let (along, shares) = match (split.channels.as_slice(), split.rows.as_slice()) {
                    (channels, []) => (Along::Channels, channels.to_vec()),
                    ([], rows) => (Along::Rows, rows.to_vec()),
                    _ => {
                        let operator = split.operators.first().cloned().unwrap_or_default();
                        let detail = "it names shares of channels and of rows; leave one of the two out".to_owned();
                        return Err(ScheduleError::Split { operator, stage: index + 1, detail });
                    }
                };
                Ok(OperatorSplit { operators, along, shares })
            });
            replicas.push(Replica { assignments, splits: splits.collect::<Result<_, ScheduleError>>()? });
        }
        schedule.stages.push(Stage { replicas });
    }
    Ok(schedule)
}
