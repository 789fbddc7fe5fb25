//! What a session did, in the form in which other languages are told.

use serde::Serialize;

use super::delivery::Delivery;
use crate::error::Error;
use crate::run::{LatencySummary, StageReport};
use crate::schedules::Scheduled;

/// Measurements of a [`Session`](crate::Session) so far.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SessionReport {
    /// The network's name.
    pub network: String,
    /// The stages in short, such as `B4-s2`.
    pub configuration: String,
    /// Frames whose results came, those that failed included.
    pub frames: u64,
    /// Frames that failed.
    pub failed_frames: u64,
    /// Between the first result and the last one; `None` before there are two.
    pub frames_per_second: Option<f64>,
    /// By the schedule.
    pub predicted_frames_per_second: f64,
    /// From being submitted to the result.
    pub latency: LatencySummary,
    /// Until frames could be submitted.
    pub start_up_seconds: f64,
    /// Until the first result; `None` before it is there.
    pub first_frame_seconds: Option<f64>,
    /// What each replica did.
    pub stages: Vec<StageReport>,
    /// What did not go as asked, such as a core that a worker could not be pinned to.
    pub warnings: Vec<String>,
}

impl SessionReport {
    pub(super) fn of(scheduled: &Scheduled, delivery: &Delivery) -> Result<Self, Error> {
        let (stream, counts) = (delivery.stream(), delivery.counts());
        let document = &scheduled.document;
        Ok(Self {
            network: scheduled.network.name().to_owned(),
            configuration: document.configuration.clone(),
            frames: counts.frames,
            failed_frames: counts.failed,
            frames_per_second: counts.frames_per_second(),
            predicted_frames_per_second: 1.0 / document.predicted.period_seconds,
            latency: stream.latency(),
            start_up_seconds: stream.started_in().as_secs_f64(),
            first_frame_seconds: stream.first_frame().map(|time| time.as_secs_f64()),
            stages: stream.stages()?,
            warnings: stream.warnings(),
        })
    }
}
