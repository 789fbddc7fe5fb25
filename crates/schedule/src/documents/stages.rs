//! The stages of a schedule as they stand in its file, where operators have names.

use std::collections::HashMap;

use millstream_board::Processor;
use millstream_graph::{Along, Graph, OperatorId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::ScheduleError;
use crate::schedule::{Assignment, OperatorSplit, Replica, Schedule, Stage};
use crate::stage_id::StageId;

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
    /// Operators that several of the processors share.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub splits: Vec<SplitDocument>,
}

/// Operators that several processors share: one divided by channels with those that follow it channel by channel, or
/// several divided by rows, columns or heads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SplitDocument {
    /// Names of the operators; every processor that takes part lists them one after the other.
    pub operators: Vec<String>,
    /// Output channels that each of the replica's processors makes, the first channels first; 0 for one that takes no
    /// part.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub channels: Vec<usize>,
    /// In place of channels: rows of what the last operator makes that each of the processors makes, the first rows
    /// first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<usize>,
    /// In place of channels: columns of what the last operator makes, in the same way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<usize>,
    /// In place of channels: heads of attention that each of the processors makes, which the last operator puts side by
    /// side.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub heads: Vec<usize>,
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
                columns: shares(Along::Columns),
                heads: shares(Along::Heads),
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

/// The schedule of some stages of a file.
pub(crate) fn from_stages(stages: &[StageDocument], graph: &Graph) -> Result<Schedule, ScheduleError> {
    let ids = graph.operator_ids().map(|id| (graph.operator(id).name.as_str(), id)).collect();
    let read = |(id, stage): (StageId, &StageDocument)| StageReader { ids: &ids, id }.stage(stage);
    Ok(Schedule { stages: StageId::all(stages.len()).zip(stages).map(read).collect::<Result<_, _>>()? })
}

/// Reads one stage of a file.
struct StageReader<'a> {
    /// The network's operators by their names.
    ids: &'a HashMap<&'a str, OperatorId>,
    id: StageId,
}

impl StageReader<'_> {
    fn stage(&self, stage: &StageDocument) -> Result<Stage, ScheduleError> {
        let replicas = stage.replicas.iter().map(|replica| self.replica(replica));
        Ok(Stage { replicas: replicas.collect::<Result<_, _>>()? })
    }

    fn replica(&self, replica: &ReplicaDocument) -> Result<Replica, ScheduleError> {
        let assignments = replica.assignments.iter().map(|assignment| {
            let operators = self.operators(&assignment.operators)?;
            Ok(Assignment { processor: assignment.processor.clone(), operators })
        });
        let splits = replica.splits.iter().map(|split| self.split(split));
        Ok(Replica {
            assignments: assignments.collect::<Result<_, ScheduleError>>()?,
            splits: splits.collect::<Result<_, _>>()?,
        })
    }

    fn split(&self, split: &SplitDocument) -> Result<OperatorSplit, ScheduleError> {
        let operators = self.operators(&split.operators)?;
        let given = [
            (Along::Channels, &split.channels),
            (Along::Rows, &split.rows),
            (Along::Columns, &split.columns),
            (Along::Heads, &split.heads),
        ];
        let mut named = given.into_iter().filter(|(_, shares)| !shares.is_empty());
        let operator = || split.operators.first().cloned().unwrap_or_default();
        let Some((along, shares)) = named.next() else {
            let detail = "it names no shares of channels, rows, columns or heads".to_owned();
            return Err(ScheduleError::Split { operator: operator(), stage: self.id, detail });
        };
        if let Some((other, _)) = named.next() {
            let detail =
                format!("it names shares of {} and of {}; leave one of the two out", along.name(), other.name());
            return Err(ScheduleError::Split { operator: operator(), stage: self.id, detail });
        }
        let shares = shares.clone();
        Ok(OperatorSplit { operators, along, shares })
    }

    fn operators(&self, names: &[String]) -> Result<Vec<OperatorId>, ScheduleError> {
        let find = |name: &String| {
            let unknown = || ScheduleError::UnknownOperator { stage: self.id, operator: name.clone() };
            self.ids.get(name.as_str()).copied().ok_or_else(unknown)
        };
        names.iter().map(find).collect()
    }
}
