//! Watching a running schedule.

use std::time::{Duration, Instant};

use millstream_machine::CoreWatch;
use millstream_schedule::Schedule;

use crate::tuning::observation::Observation;
use crate::{Engine, RuntimeError, StageMetrics, TuningPolicy};

/// How often a window checks whether it has enough frames.
pub(super) const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// A window that still lacks frames ends after so many times its length.
pub(super) const WINDOWS_WAITED: u32 = 10;

/// Frames per replica that a new schedule works on before it is watched.
pub(super) const WARM_UP: u64 = 3;

/// Frames and busy time of a replica.
pub(super) type Count = (u64, Duration);

/// Of each replica, stage by stage.
pub(super) type Counts = Vec<Vec<Count>>;

pub(super) fn counts(metrics: &[StageMetrics]) -> Counts {
    let stage = |stage: &StageMetrics| stage.replicas.iter().map(|replica| (replica.frames, replica.busy)).collect();
    metrics.iter().map(stage).collect()
}

impl Engine {
    /// Tries a schedule: replaces the one at work, waits until it is warm, and watches it. `None` if it was over before, or if no
    /// frames came.
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
        let warm = |counts: &Counts| counts.iter().flatten().all(|(frames, _)| *frames >= WARM_UP);
        self.wait(limit, is_over, &mut |counts, _| warm(counts));
        let before = counts(&self.metrics());
        // What cores did until here does not count.
        drop(watch.loads());

        let since = |counts: &Counts| -> Counts {
            let stages = counts.iter().zip(&before);
            let more =
                |(now, before): (&Count, &Count)| (now.0.saturating_sub(before.0), now.1.saturating_sub(before.1));
            stages.map(|(now, before)| now.iter().zip(before).map(more).collect()).collect()
        };
        let counted = self.wait(limit, is_over, &mut |counts, elapsed| {
            elapsed >= policy.window && since(counts).iter().flatten().all(|(frames, _)| *frames >= policy.frames)
        });
        let Some(counted) = counted else { return Ok(None) };

        let mean = |&(frames, busy): &Count| busy.checked_div(u32::try_from(frames).unwrap_or(u32::MAX));
        let times: Vec<Vec<Option<Duration>>> =
            since(&counted).iter().map(|stage| stage.iter().map(mean).collect()).collect();
        let rate = |stage: &Vec<Option<Duration>>| {
            stage.iter().flatten().map(|time| 1.0 / time.as_secs_f64().max(1e-9)).sum::<f64>()
        };
        let slowest = times.iter().map(rate).fold(f64::INFINITY, f64::min);
        if slowest <= 0.0 || !slowest.is_finite() {
            return Ok(None);
        }

        let period = Duration::from_secs_f64(1.0 / slowest);
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
