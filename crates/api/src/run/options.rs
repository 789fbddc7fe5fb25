//! How frames are run.

use std::path::PathBuf;
use std::time::Duration;

use crate::error::Error;
use crate::run::camera::Camera;

/// Options of a run: its frames, and the use of their results.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct RunOptions {
    /// When it is enough.
    pub length: RunLength,
    /// Frames before the measurement; two for each processor and two more if `None`.
    pub warm_up: Option<WarmUp>,
    /// How frames arrive; if `None`, always another one is there.
    pub camera: Option<Camera>,
    /// The longest that a frame may take, for networks without a deadline of their own.
    pub deadline: Option<Duration>,
    /// Whether the schedule changes while frames flow, when conditions change. It needs a cached profile, and the board
    /// for itself.
    pub is_adaptive: bool,
    /// Frames between the first stage's start and the last one's end; see
    /// [`EngineOptions`](millstream_runtime::EngineOptions).
    pub frames_in_flight: Option<usize>,
    /// How long a stage may work on one frame; see [`EngineOptions`](millstream_runtime::EngineOptions).
    pub frame_timeout: Option<Duration>,
    /// A folder that results are written into.
    pub output: Option<PathBuf>,
    /// Results to compare with: a file, or a folder that an earlier run wrote.
    pub expected: Option<PathBuf>,
    /// How far floats may be from what is expected, relative to the largest element; by their type if `None`.
    pub tolerance: Option<f64>,
    /// Whether results say what each processor did, for traces.
    pub keeps_steps: bool,
    /// Whether operators are measured in their stages, after the frames.
    pub measures_operators: bool,
}

impl RunOptions {
    /// Whether they suit so many networks at once.
    pub(crate) fn check(&self, networks: usize) -> Result<(), Error> {
        if networks > 1 && self.is_adaptive {
            return Err(Error::Unfit(
                "several networks can't adapt at once: each would plan for the whole board".to_owned(),
            ));
        }
        if let Some(Camera { hertz, .. }) = self.camera.filter(|camera| !(1e-6..=1e9).contains(&camera.hertz)) {
            return Err(Error::Unfit(format!("{hertz} is not a number of frames per second above 0")));
        }
        if self.length == RunLength::Frames(0) {
            return Err(Error::Unfit("a run of no frames shows nothing".to_owned()));
        }
        Ok(())
    }
}

/// When a run has had enough frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RunLength {
    /// After 50 frames; after each of the user's frames once, if their results are written or expected.
    #[default]
    Usual,
    /// After so many frames.
    Frames(u64),
    /// After so long.
    Time(Duration),
}

/// Frames before a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WarmUp {
    /// So many.
    Frames(u64),
    /// As many as pass in so long.
    Time(Duration),
}
