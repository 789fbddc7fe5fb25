//! What a run showed, as a document.

use std::fmt;

use millstream_board::{Document, EngineName, Provenance};
use millstream_schedule::{MissedConstraint, StageId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::interference::Interference;
use crate::run::surroundings::Throttling;

/// The `format` of run reports.
pub const RUN_REPORT_FORMAT: &str = "millstream-run-report";
/// Their `version`.
pub const RUN_REPORT_VERSION: u32 = 1;

/// The report of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunReport {
    /// Always `millstream-run-report`.
    pub format: String,
    /// Version of the format.
    pub version: u32,
    /// Which tool made it, and when.
    pub provenance: Provenance,
    /// One entry per network and size.
    pub networks: Vec<NetworkRun>,
}

impl Document for RunReport {
    const FORMAT: &'static str = RUN_REPORT_FORMAT;
    const VERSION: u32 = RUN_REPORT_VERSION;
    const NAME: &'static str = "run report";
}

impl RunReport {
    /// The report of some networks' runs.
    pub fn new(networks: Vec<NetworkRun>) -> Self {
        let (format, version) = (RUN_REPORT_FORMAT.to_owned(), RUN_REPORT_VERSION);
        Self { format, version, provenance: crate::provenance(), networks }
    }
}

/// The part of a run's report that is about one network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NetworkRun {
    /// Its name.
    pub network: String,
    /// Sizes of its open dimensions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dimensions: Vec<(String, usize)>,
    /// The stages of the schedule that was at work at the end, such as `B4-s2-s2`.
    pub configuration: String,
    /// Frames that were measured.
    pub frames: usize,
    /// Frames among them that differ from each other; they took turns.
    pub different_frames: usize,
    /// Whether the frames were the user's.
    pub has_own_frames: bool,
    /// Frames that arrived each second, if not always another one was there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frames_per_second_offered: Option<f64>,
    /// Frames that were dropped because they came too late.
    pub dropped_frames: u64,
    /// Frames that have no results because a stage failed on them, or took too long. They are not among `frames`.
    #[serde(default)]
    pub failed_frames: u64,
    /// Time between two frames that the schedule predicts.
    pub predicted_period_seconds: f64,
    /// Mean time between two frames while they flowed.
    pub measured_period_seconds: Option<f64>,
    /// Time of a frame through the stages that the schedule predicts.
    pub predicted_latency_seconds: f64,
    /// Sum of the stages' mean times.
    pub measured_latency_seconds: f64,
    /// Times from a frame's arrival to its result, queues and order included.
    pub latency: LatencySummary,
    /// Time to open the engines, to prepare the stages, and until the first frame was through; missing without a
    /// warm-up. Reading the model and checking results do not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_up_seconds: Option<f64>,
    /// The longest that a frame may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_seconds: Option<f64>,
    /// Frames that took longer, those that were dropped or failed included. Where several networks have processors of
    /// their own, waiting in queues does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missed_deadlines: Option<u64>,
    /// Constraints that the schedule was planned for and that the run missed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missed_constraints: Vec<MissedConstraint>,
    /// The longest that a frame took, with its waiting in queues, where that is beyond a limit that was planned
    /// without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beyond_with_queues: Option<MissedConstraint>,
    /// By the machine's power sensors, if it has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured_joules_per_frame: Option<f64>,
    /// By the power of the board's processors, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicted_joules_per_frame: Option<f64>,
    /// How many cores other programs used while frames flowed; missing where the system does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others_cores: Option<f64>,
    /// Whether the system lowered clocks because of heat while frames flowed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub heat_throttled: bool,
    /// How a container's quota held the stages up, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttling: Option<Throttling>,
    /// Largest difference of a result from sequential inference, relative to the largest element.
    pub largest_difference: f64,
    /// Frames whose results were compared with sequential inference.
    pub checked_frames: usize,
    /// The engine of the sequential inference that results were compared with; missing: ONNX Runtime.
    #[serde(default, skip_serializing_if = "EngineName::is_default")]
    pub reference_engine: EngineName,
    /// The result of comparing with expected results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<ExpectedReport>,
    /// One entry per replica of each stage.
    pub stages: Vec<StageReport>,
    /// What every operator takes in its stage, if that was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operators: Vec<OperatorReport>,
    /// What happened while the schedule was adapted.
    pub adaptations: Vec<AdaptationReport>,
    /// What did not go as asked.
    pub warnings: Vec<String>,
}

impl NetworkRun {
    /// What held the frames up, if that is so much that times can't be relied on.
    pub fn disturbance(&self) -> Option<Interference> {
        let other_cores = self.others_cores.unwrap_or_default();
        Some(Interference { heat_throttled: self.heat_throttled, other_cores }).filter(|seen| seen.is_significant())
    }
}

/// Times of frames: half of them took no longer than `p50_seconds`, and so on. Of frames that were streamed, they are
/// within 0.1 %.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LatencySummary {
    /// The median.
    pub p50_seconds: f64,
    /// Nine in ten frames took no longer.
    pub p90_seconds: f64,
    /// 99 in 100 frames took no longer.
    pub p99_seconds: f64,
    /// The longest.
    pub max_seconds: f64,
}

impl fmt::Display for LatencySummary {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [p50, p90, p99, max] =
            [self.p50_seconds, self.p90_seconds, self.p99_seconds, self.max_seconds].map(|seconds| 1e3 * seconds);
        write!(formatter, "p50 {p50:.1}, p90 {p90:.1}, p99 {p99:.1}, max {max:.1} ms")
    }
}

impl LatencySummary {
    /// The smallest time that so many of the frames did not exceed.
    pub fn of(mut seconds: Vec<f64>) -> Self {
        seconds.sort_unstable_by(f64::total_cmp);
        let quantile = |share: f64| {
            let rank = (share * seconds.len() as f64).ceil() as usize;
            seconds.get(rank.saturating_sub(1)).copied().unwrap_or(0.0)
        };
        Self {
            p50_seconds: quantile(0.5),
            p90_seconds: quantile(0.9),
            p99_seconds: quantile(0.99),
            max_seconds: quantile(1.0),
        }
    }
}

/// What came of comparing with expected results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExpectedReport {
    /// Where they are.
    pub path: String,
    /// Frames that were compared.
    pub checked_frames: usize,
    /// Those of them that differ by more than they may.
    pub wrong_frames: usize,
    /// Largest difference of the others, relative to the largest element.
    pub largest_difference: f64,
}

/// Measurements of one replica of a stage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StageReport {
    /// The stage.
    pub stage: StageId,
    /// The processors.
    pub processor: String,
    /// Its time for a frame that the schedule predicts.
    pub predicted_seconds: f64,
    /// Its mean time for a frame.
    pub measured_seconds: f64,
    /// Frames that it worked on.
    pub frames: u64,
    /// How often it was started again after it was lost.
    #[serde(default)]
    pub restarts: u64,
    /// Mean time that a frame waited for it.
    pub queue_wait_seconds: f64,
    /// Part of the time that it worked, from 0 to 1.
    pub utilisation: f64,
}

/// The time of operators that run as one in their stage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OperatorReport {
    /// The stage.
    pub stage: StageId,
    /// The processors.
    pub processor: String,
    /// Names of the operators.
    pub operators: Vec<String>,
    /// The type of the first of them.
    pub op_type: String,
    /// Median over frames.
    pub seconds: f64,
    /// Part of the time of all operators of the stage on the processor.
    pub share: f64,
}

/// One event while the schedule was adapted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdaptationReport {
    /// When, from the beginning of the run.
    pub seconds: f64,
    /// `drift`, `trial`, `settled` or `refused`.
    pub what: String,
    /// The schedule that it is about.
    pub configuration: Option<String>,
    /// Its time between two frames.
    pub period_seconds: Option<f64>,
    /// The same in words.
    pub text: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_times_that_occurred() {
        let summary = LatencySummary::of((1..=200).map(f64::from).rev().collect());
        assert_eq!(
            (summary.p50_seconds, summary.p90_seconds, summary.p99_seconds, summary.max_seconds),
            (100.0, 180.0, 198.0, 200.0)
        );
        assert_eq!(LatencySummary::of(vec![3.0]).p50_seconds, 3.0);
        assert_eq!(LatencySummary::of(Vec::new()), LatencySummary::default());
    }
}
