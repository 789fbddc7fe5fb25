//! What a run showed, as a document.

use millstream_board::Provenance;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The `format` of run reports.
pub(crate) const RUN_REPORT_FORMAT: &str = "millstream-run-report";
/// Their `version`.
pub(crate) const RUN_REPORT_VERSION: u32 = 1;

/// What a run showed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunReport {
    /// Always `millstream-run-report`.
    pub(crate) format: String,
    /// Version of the format.
    pub(crate) version: u32,
    /// Which tool made it, and when.
    pub(crate) provenance: Provenance,
    /// One entry per network and size.
    pub(crate) networks: Vec<NetworkRun>,
}

/// What a run showed of one network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NetworkRun {
    /// Its name.
    pub(crate) network: String,
    /// Sizes of its open dimensions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) dimensions: Vec<(String, usize)>,
    /// The stages of the schedule that was at work at the end, such as `B4-s2-s2`.
    pub(crate) configuration: String,
    /// Frames that were measured.
    pub(crate) frames: usize,
    /// Frames among them that differ from each other; they took turns.
    pub(crate) different_frames: usize,
    /// Whether the frames were the user's.
    pub(crate) has_own_frames: bool,
    /// Frames that arrived each second, if not always another one was there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) frames_per_second_offered: Option<f64>,
    /// Frames that were dropped because they came too late.
    pub(crate) dropped_frames: u64,
    /// Time between two frames that the schedule predicts.
    pub(crate) predicted_period_seconds: f64,
    /// Mean time between two frames while they flowed.
    pub(crate) measured_period_seconds: Option<f64>,
    /// Time of a frame through the stages that the schedule predicts.
    pub(crate) predicted_latency_seconds: f64,
    /// Sum of the stages' mean times.
    pub(crate) measured_latency_seconds: f64,
    /// Times from a frame's arrival to its result, queues and order included.
    pub(crate) latency: LatencySummary,
    /// The longest that a frame may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) deadline_seconds: Option<f64>,
    /// Frames that took longer, those that were dropped included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) missed_deadlines: Option<u64>,
    /// By the machine's power sensors, if it has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) measured_joules_per_frame: Option<f64>,
    /// By the power of the board's processors, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) predicted_joules_per_frame: Option<f64>,
    /// Largest difference of a result from sequential inference, relative to the largest element.
    pub(crate) largest_difference: f64,
    /// Frames whose results were compared with sequential inference.
    pub(crate) checked_frames: usize,
    /// What came of comparing with expected results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) expected: Option<ExpectedReport>,
    /// One entry per replica of each stage.
    pub(crate) stages: Vec<StageReport>,
    /// What every operator takes in its stage, if that was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) operators: Vec<OperatorReport>,
    /// What happened while the schedule was adapted.
    pub(crate) adaptations: Vec<AdaptationReport>,
    /// What did not go as asked.
    pub(crate) warnings: Vec<String>,
}

/// Times of frames: half of them took no longer than `p50_seconds`, and so on.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LatencySummary {
    pub(crate) p50_seconds: f64,
    pub(crate) p90_seconds: f64,
    pub(crate) p99_seconds: f64,
    pub(crate) max_seconds: f64,
}

impl LatencySummary {
    /// The smallest time that so many of the frames did not exceed.
    pub(crate) fn of(mut seconds: Vec<f64>) -> Self {
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
pub(crate) struct ExpectedReport {
    /// Where they are.
    pub(crate) path: String,
    /// Frames that were compared.
    pub(crate) checked_frames: usize,
    /// Those of them that differ by more than they may.
    pub(crate) wrong_frames: usize,
    /// Largest difference of the others, relative to the largest element.
    pub(crate) largest_difference: f64,
}

/// What one replica of a stage did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StageReport {
    pub(crate) stage: usize,
    pub(crate) processor: String,
    pub(crate) predicted_seconds: f64,
    pub(crate) measured_seconds: f64,
    pub(crate) frames: u64,
    pub(crate) queue_wait_seconds: f64,
    pub(crate) utilisation: f64,
}

/// What operators that run as one take in their stage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OperatorReport {
    pub(crate) stage: usize,
    pub(crate) processor: String,
    /// Names of the operators.
    pub(crate) operators: Vec<String>,
    /// The type of the first of them.
    pub(crate) op_type: String,
    /// Median over frames.
    pub(crate) seconds: f64,
    /// Part of the time of all operators of the stage on the processor.
    pub(crate) share: f64,
}

/// One event while the schedule was adapted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AdaptationReport {
    pub(crate) seconds: f64,
    pub(crate) what: String,
    pub(crate) configuration: Option<String>,
    pub(crate) period_seconds: Option<f64>,
    pub(crate) text: String,
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
