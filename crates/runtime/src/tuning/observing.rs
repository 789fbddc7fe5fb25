//! Watching a running schedule for a window: what an observation is made of.

use std::time::{Duration, Instant};

use millstream_machine::CoreWatch;
use millstream_schedule::Schedule;

use crate::engine::Engine;
use crate::error::RuntimeError;
use crate::metrics::{ReplicaMetrics, StageMetrics};
use crate::tuning::TuningPolicy;
use crate::tuning::observation::Observation;

/// How often a window checks whether it has enough frames.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// A window that still lacks frames ends after so many times its length.
const WINDOWS_WAITED: u32 = 10;

/// Frames per replica that a new schedule works on before it is watched.
const WARM_UP: u64 = 3;

/// What a replica did.
#[derive(Debug, Clone, Copy)]
struct Count {
    frames: u64,
    /// How long it worked on them.
    busy: Duration,
}

impl Count {
    /// What it did since an earlier count.
    fn since(self, before: Self) -> Self {
        let frames = self.frames.saturating_sub(before.frames);
        Self { frames, busy: self.busy.saturating_sub(before.busy) }
    }

    /// Mean time of a frame; `None` if there was none.
    fn mean(self) -> Option<Duration> {
        self.busy.checked_div(u32::try_from(self.frames).unwrap_or(u32::MAX))
    }
}

/// Of each replica, stage by stage.
type Counts = Vec<Vec<Count>>;

fn counts(metrics: &[StageMetrics]) -> Counts {
    let count = |replica: &ReplicaMetrics| Count { frames: replica.frames, busy: replica.busy };
    metrics.iter().map(|stage| stage.replicas.iter().map(count).collect()).collect()
}

/// Time between two frames that the slowest stage allows, whose replicas share the frames; `None` if no replica of some
/// stage got a frame.
fn period(replica_times: &[Vec<Option<Duration>>]) -> Option<Duration> {
    let rate = |stage: &Vec<Option<Duration>>| {
        stage.iter().flatten().map(|time| 1.0 / time.as_secs_f64().max(1e-9)).sum::<f64>()
    };
    let slowest = replica_times.iter().map(rate).fold(f64::INFINITY, f64::min);
    (slowest > 0.0 && slowest.is_finite()).then(|| Duration::from_secs_f64(1.0 / slowest))
}

impl Engine {
    /// Tries a schedule: replaces the one at work, waits until it is warm, and watches it. `None` if it was over
    /// before, or if no frames came.
    ///
    /// # Errors
    /// As [`Engine::reschedule`].
    pub fn try_schedule(
        &self,
        schedule: &Schedule,
        policy: &TuningPolicy,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Option<Observation>, RuntimeError> {
        self.reschedule(schedule)?;
        self.observe(&mut CoreWatch::new(), policy, is_over)
    }

    /// Watches the schedule at work for a window. `None` if it was over before, or if no frames came.
    ///
    /// # Errors
    /// [`RuntimeError::Stopped`] if the engine can't take frames any more.
    pub fn observe(
        &self,
        watch: &mut CoreWatch,
        policy: &TuningPolicy,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Option<Observation>, RuntimeError> {
        let limit = policy.window * WINDOWS_WAITED;
        let warm = |counts: &Counts| counts.iter().flatten().all(|count| count.frames >= WARM_UP);
        self.wait(limit, is_over, &mut |counts, _| warm(counts));
        let before = counts(&self.metrics());
        // What cores did until here does not count.
        drop(watch.loads());

        let since = |counts: &Counts| -> Counts {
            let stage = |(now, before): (&Vec<Count>, &Vec<Count>)| {
                now.iter().zip(before).map(|(now, before)| now.since(*before)).collect()
            };
            counts.iter().zip(&before).map(stage).collect()
        };
        let counted = self.wait(limit, is_over, &mut |counts, elapsed| {
            elapsed >= policy.window && since(counts).iter().flatten().all(|count| count.frames >= policy.frames)
        });
        let Some(counted) = counted else { return Ok(None) };

        let times: Vec<Vec<Option<Duration>>> =
            since(&counted).iter().map(|stage| stage.iter().map(|count| count.mean()).collect()).collect();
        let Some(period) = period(&times) else { return Ok(None) };
        let latency = times.iter().filter_map(|stage| stage.iter().flatten().max()).sum();
        let schedule = self.schedule()?;
        Ok(Some(Observation { schedule, replica_times: times, period, latency, cores: watch.loads() }))
    }

    /// Waits until the counts are as wanted or the limit is over; `None` if everything is over.
    fn wait(
        &self,
        limit: Duration,
        is_over: &dyn Fn() -> bool,
        is_enough: &mut dyn FnMut(&Counts, Duration) -> bool,
    ) -> Option<Counts> {
        let begin = Instant::now();
        loop {
            if is_over() {
                return None;
            }
            let counts = counts(&self.metrics());
            if is_enough(&counts, begin.elapsed()) || begin.elapsed() >= limit {
                return Some(counts);
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }
}
