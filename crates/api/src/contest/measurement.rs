//! What a contender did in one turn.

use millstream_predict::Statistics;

use crate::error::Error;

/// Frames of one turn.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measurement {
    pub(crate) frames_per_second: f64,
    pub(crate) median_frame_seconds: f64,
    pub(crate) worst_frame_seconds: f64,
    /// Sum over the stages of the slowest replica's mean time; engines only.
    pub(crate) stage_seconds: Option<f64>,
}

impl Measurement {
    /// The numbers of frames that took so many seconds each.
    ///
    /// # Errors
    /// [`Error::NoFrame`] without any.
    pub(crate) fn of(
        latencies_seconds: &[f64],
        frames_per_second: f64,
        stage_seconds: Option<f64>,
    ) -> Result<Self, Error> {
        let statistics = Statistics::of(latencies_seconds).ok_or(Error::NoFrame)?;
        Ok(Self {
            frames_per_second,
            median_frame_seconds: statistics.median_seconds,
            worst_frame_seconds: latencies_seconds.iter().copied().fold(0.0, f64::max),
            stage_seconds,
        })
    }
}
