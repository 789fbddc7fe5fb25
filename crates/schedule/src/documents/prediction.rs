//! What a schedule should achieve, as it stands in its file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::documents::searched_space::SearchedSpace;
use crate::energy::Energy;
use crate::evaluate::{Evaluation, StageEvaluation};
use crate::stage_id::StageId;

/// Numbers that a schedule should achieve, by the cost table that it was made from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Prediction {
    /// Time between two frames.
    pub period_seconds: f64,
    /// Time of one frame through the pipeline.
    pub latency_seconds: f64,
    /// Whether the numbers are those of trials on the machine, or come from what these showed, rather than from costs
    /// or a simulation.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_measured: bool,
    /// No schedule on the board has a shorter period under the same costs, however operators are placed, replicated or
    /// divided.
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

/// A lower bound on the period of all schedules in the space that was searched.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchedBound {
    /// The period.
    pub period_seconds: f64,
    /// Which schedules these are.
    pub space: SearchedSpace,
}

impl Prediction {
    /// The prediction that an evaluation amounts to.
    pub fn new(evaluation: &Evaluation, lower_bound_period_seconds: f64) -> Self {
        let seconds = |stage: &StageEvaluation| stage.replica_times.iter().map(|time| time.seconds()).collect();
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

    /// The predicted time of a replica for a frame, in seconds; the replicas of a stage are counted from 0. `None` if there is
    /// no such replica.
    pub fn replica(&self, stage: StageId, replica: usize) -> Option<f64> {
        self.replica_seconds.get(stage.index())?.get(replica).copied()
    }

    /// This prediction with what frames cost in energy, where that is known.
    #[must_use]
    pub fn with_energy(self, energy: Option<Energy>) -> Self {
        Self {
            joules_per_frame: energy.map(|energy| energy.joules_per_frame),
            watts: energy.map(|energy| energy.watts),
            ..self
        }
    }
}
