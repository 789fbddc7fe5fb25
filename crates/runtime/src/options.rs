//! How an engine is set up.

use std::time::Duration;

use millstream_schedule::Schedule;

/// How an engine is set up.
///
/// ```
/// use millstream_runtime::EngineOptions;
///
/// let options = EngineOptions::default().with_frames_in_flight(4).with_frame_timeout(std::time::Duration::from_secs(1));
/// assert_eq!(options.frames_in_flight, Some(4));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct EngineOptions {
    /// How many frames may be between the start of the first stage and the end of the last one. More frames smooth out
    /// uneven stage times, fewer keep each frame's way through the stages short. `None` is what
    /// [`Schedule::frames_in_flight`] says.
    pub frames_in_flight: Option<usize>,
    /// How many frames may be between submission and receipt, those that are done but must wait for an earlier one or
    /// for the receiver included. `None` is 16 per worker: replicas may differ in speed by that much without waiting.
    pub frames_outstanding: Option<usize>,
    /// Whether results tell what each processor of a stage did when
    /// ([`FrameResult::steps`](crate::FrameResult::steps)).
    pub keeps_steps: bool,
    /// Whether a processor that would wait for another one of its stage takes over what that one has not begun, as when
    /// other programs keep it from its core. Costs the memory and the time to prepare every segment on all processors
    /// of its stage.
    pub takes_over: bool,
    /// How long a stage may work on one frame, without the waiting between stages. After that the frame is cancelled
    /// and fails with [`FrameError::TimedOut`](crate::FrameError::TimedOut); a replica that has not ended half a second
    /// later is given up and started anew. With a limit, frames wait a minute at most, or as long as the limit if it is
    /// longer, for a replica that is being prepared. `None` is without a limit.
    pub frame_timeout: Option<Duration>,
    /// How often within a minute a replica that panicked, lost its device or got stuck is prepared again while frames
    /// of its stage wait for it, if there is no other replica: at once, after 20 ms, and after twice as long each time.
    /// After one loss more, frames don't wait until the first of these losses is a minute ago. A replica that can't be
    /// prepared, so many times in a row and once more, is tried again all the same, with pauses of at most five
    /// seconds, and frames don't wait. Those of a stage without any replica fail meanwhile, one each millisecond. Where
    /// there is a fallback, frames run through it as soon as a stage has no replica, and none is prepared again. `None`
    /// is 5 times; with 0, a replica that was lost takes no more frames.
    pub restarts: Option<usize>,
}

const RESTARTS: usize = 5;
const LONGEST_TIMEOUT: Duration = Duration::from_hours(24 * 365);

impl EngineOptions {
    /// More frames in flight than this are as many: queues are made for them.
    pub const MOST_IN_FLIGHT: usize = 1 << 16;
    /// The default of [`EngineOptions::frames_outstanding`] for each replica.
    pub const OUTSTANDING_PER_WORKER: usize = 16;

    /// The same with another [`EngineOptions::frames_in_flight`].
    #[must_use]
    pub fn with_frames_in_flight(self, frames: impl Into<Option<usize>>) -> Self {
        Self { frames_in_flight: frames.into(), ..self }
    }

    /// The same with another [`EngineOptions::frames_outstanding`].
    #[must_use]
    pub fn with_frames_outstanding(self, frames: impl Into<Option<usize>>) -> Self {
        Self { frames_outstanding: frames.into(), ..self }
    }

    /// The same with another [`EngineOptions::keeps_steps`].
    #[must_use]
    pub fn with_steps_kept(self, keeps_steps: bool) -> Self {
        Self { keeps_steps, ..self }
    }

    /// The same with another [`EngineOptions::takes_over`].
    #[must_use]
    pub fn with_taking_over(self, takes_over: bool) -> Self {
        Self { takes_over, ..self }
    }

    /// The same with another [`EngineOptions::frame_timeout`].
    #[must_use]
    pub fn with_frame_timeout(self, limit: impl Into<Option<Duration>>) -> Self {
        Self { frame_timeout: limit.into(), ..self }
    }

    /// The same with another number of [`EngineOptions::restarts`].
    #[must_use]
    pub fn with_restarts(self, restarts: impl Into<Option<usize>>) -> Self {
        Self { restarts: restarts.into(), ..self }
    }

    /// No clock reaches further.
    pub(crate) fn time_limit(&self) -> Option<Duration> {
        self.frame_timeout.map(|limit| limit.min(LONGEST_TIMEOUT))
    }

    pub(crate) fn restart_limit(&self) -> usize {
        self.restarts.unwrap_or(RESTARTS)
    }

    pub(crate) fn in_flight(&self, schedule: &Schedule) -> usize {
        self.frames_in_flight.unwrap_or_else(|| schedule.frames_in_flight()).clamp(1, Self::MOST_IN_FLIGHT)
    }

    pub(crate) fn outstanding(&self, schedule: &Schedule) -> usize {
        let outstanding = self.frames_outstanding.unwrap_or(replicas(schedule) * Self::OUTSTANDING_PER_WORKER);
        outstanding.clamp(2 * self.in_flight(schedule), 4 * Self::MOST_IN_FLIGHT)
    }
}

fn replicas(schedule: &Schedule) -> usize {
    schedule.stages.iter().map(|stage| stage.replicas.len()).sum()
}
