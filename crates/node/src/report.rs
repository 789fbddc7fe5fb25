//! What came of a run over several hosts.

use millstream_api::LatencySummary;
use millstream_api::schedule::StageId;
use millstream_report::{Align, Table, milliseconds, rate};
use serde::{Deserialize, Serialize};

/// What came of a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// The stages of the first schedule.
    pub configuration: String,
    /// How many frames there were to be.
    pub frames: u64,
    /// How many different ones.
    pub different_frames: usize,
    /// How many had the results of sequential inference.
    pub checked: u64,
    /// Whether answers came in the order of the frames, each once.
    pub is_in_order: bool,
    /// Largest difference from sequential inference, relative to the largest element.
    pub largest_difference: f64,
    /// The part of that which comes from values that are sent in fewer bits, where everything else is exact.
    pub sending_changes: f64,
    /// Frames without right results, and why.
    pub failures: Vec<(u64, String)>,
    /// Time between two answers, once the pipeline was full.
    pub measured_period_seconds: Option<f64>,
    /// What the first schedule predicts for it.
    pub predicted_period_seconds: f64,
    /// Longest time between two answers.
    pub longest_pause_seconds: f64,
    /// From when a frame was submitted until its answer, queues included.
    pub latency: LatencySummary,
    /// What stages did.
    pub stages: Vec<HostStageReport>,
    /// What happened.
    pub events: Vec<EventReport>,
    /// Why everything was given up, if it was.
    pub error: Option<String>,
}

/// What a replica of a stage did.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostStageReport {
    /// The host.
    pub host: String,
    /// Which schedule, counted from 1.
    pub plan: usize,
    /// The stage.
    pub stage: StageId,
    /// The replica, counted from 1.
    pub replica: usize,
    /// Its processors.
    pub processors: String,
    /// Frames that it worked on since its process began.
    pub frames: u64,
    /// Mean time for one.
    pub measured_seconds: f64,
    /// What the schedule predicts for it.
    pub predicted_seconds: f64,
}

/// Something that happened.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventReport {
    /// When, from the beginning.
    pub seconds: f64,
    /// What.
    pub text: String,
}

impl Default for Report {
    fn default() -> Self {
        Self {
            configuration: String::new(),
            frames: 0,
            different_frames: 0,
            checked: 0,
            is_in_order: true,
            largest_difference: 0.0,
            sending_changes: 0.0,
            failures: Vec::new(),
            measured_period_seconds: None,
            predicted_period_seconds: 0.0,
            longest_pause_seconds: 0.0,
            latency: LatencySummary::of(Vec::new()),
            stages: Vec::new(),
            events: Vec::new(),
            error: None,
        }
    }
}

impl Report {
    /// Whether all frames had right results, in order.
    pub fn is_right(&self) -> bool {
        self.error.is_none() && self.is_in_order && self.checked == self.frames
    }

    /// What people read.
    pub fn text(&self) -> String {
        let mut table = Table::new([
            ("host", Align::Left),
            ("schedule", Align::Right),
            ("stage", Align::Right),
            ("processors", Align::Left),
            ("frames", Align::Right),
            ("measured ms", Align::Right),
            ("predicted ms", Align::Right),
        ]);
        for stage in &self.stages {
            table.row([
                stage.host.clone(),
                stage.plan.to_string(),
                stage.stage.to_string(),
                stage.processors.clone(),
                stage.frames.to_string(),
                milliseconds(stage.measured_seconds),
                milliseconds(stage.predicted_seconds),
            ]);
        }

        let events = self.events.iter().map(|event| format!("{:9.3} s  {}\n", event.seconds, event.text));
        let measured = self.measured_period_seconds.map_or_else(|| "-".to_owned(), rate);
        let sending = if self.sending_changes > 0.0 {
            format!("Sending:    in fewer bits it changes results by up to {:.1e}\n", self.sending_changes)
        } else {
            String::new()
        };
        let failures = self.failures.iter().take(5).map(|(sequence, why)| format!("Frame {sequence}: {why}\n"));
        format!(
            "{} frames through {}\n\n{table}\n\n{}\nThroughput: {measured} frames/s measured, {} predicted\nLatency:    p50 {}, p99 {}, max {} ms with queues\n\
             Results:    {} of {} frames as in sequential inference ({} different ones), largest difference {:.1e} of the largest element\n{sending}{}",
            self.frames,
            self.configuration,
            events.collect::<String>(),
            rate(self.predicted_period_seconds),
            milliseconds(self.latency.p50_seconds),
            milliseconds(self.latency.p99_seconds),
            milliseconds(self.latency.max_seconds),
            self.checked,
            self.frames,
            self.different_frames,
            self.largest_difference,
            failures.collect::<String>(),
        )
    }
}
