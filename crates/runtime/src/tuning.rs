//! Watching a running schedule, and replacing it when conditions change.

use std::fmt;
use std::time::{Duration, Instant};

use millstream_board::{CoreLoad, CoreWatch};
use millstream_schedule::Schedule;

use crate::drift::drift;
use crate::{Engine, RuntimeError, StageMetrics};

/// What a while of running showed.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    /// The schedule at work.
    pub schedule: Schedule,
    /// Mean time of a frame in each replica, stage by stage; `None` for one that got no frame.
    pub replica_times: Vec<Vec<Option<Duration>>>,
    /// Time between two frames that the slowest stage allows, if frames are always there.
    pub period: Duration,
    /// Time of a frame through all stages, by their slowest replicas.
    pub latency: Duration,
    /// What the cores were used for; empty if the system does not tell.
    pub cores: Vec<CoreLoad>,
}

/// What a schedule is to be good at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Goal {
    /// A short time between two frames.
    #[default]
    Throughput,
    /// A short time of each frame.
    Latency,
    /// Both: a small product.
    Balanced,
}

impl Goal {
    /// How well a schedule does: shorter is better. For both together, their geometric mean.
    pub fn measure(self, period: Duration, latency: Duration) -> Duration {
        match self {
            Self::Throughput => period,
            Self::Latency => latency,
            Self::Balanced => Duration::from_secs_f64((period.as_secs_f64() * latency.as_secs_f64()).sqrt()),
        }
    }
}

/// Proposes schedules while frames flow.
pub trait Planner: Send {
    /// The schedule to try next, given what the one at work shows; `None` if no other promises to be better.
    ///
    /// # Errors
    /// Whatever keeps it from searching.
    fn propose(&mut self, seen: &Observation) -> Result<Option<Schedule>, Box<dyn std::error::Error + Send + Sync>>;

    /// Conditions changed: what was learnt so far holds no longer.
    fn forget(&mut self);
}

/// When an engine looks for a better schedule, and how far it goes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TuningPolicy {
    /// What makes a schedule better.
    pub goal: Goal,
    /// How long a schedule is watched to learn its times.
    pub window: Duration,
    /// Frames that every replica must have worked on within that; else the window is longer.
    pub frames: u64,
    /// Relative change of a stage's time or a core's clock, or change of the part of a core that others use, that is taken for
    /// a change of conditions. It must show twice in a row.
    pub drift: f64,
    /// The most schedules that are tried after a change.
    pub trials: usize,
    /// A schedule must be better than what was there by this, relatively, to replace it.
    pub gain: f64,
    /// Whether to look for a better schedule at once, without waiting for a change.
    pub at_once: bool,
}

impl Default for TuningPolicy {
    fn default() -> Self {
        Self {
            goal: Goal::Throughput,
            window: Duration::from_secs(1),
            frames: 10,
            drift: 0.2,
            trials: 5,
            gain: 0.02,
            at_once: false,
        }
    }
}

/// Something that happened while an engine was tuned.
#[derive(Debug, Clone, PartialEq)]
pub struct TuningEvent {
    /// When, since tuning began.
    pub at: Duration,
    /// What.
    pub kind: TuningEventKind,
}

/// What happened.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum TuningEventKind {
    /// Conditions changed.
    Drift {
        /// What was seen of it.
        reason: String,
        /// Period of the schedule at work, now.
        period: Duration,
    },
    /// A schedule was tried.
    Trial {
        /// The schedule.
        configuration: String,
        /// Its period.
        period: Duration,
    },
    /// A schedule was tried and could not be started.
    Refused {
        /// The schedule.
        configuration: String,
        /// Why.
        reason: String,
    },
    /// The search ended, and this schedule stays.
    Settled {
        /// The schedule.
        configuration: String,
        /// Its period.
        period: Duration,
    },
}

impl fmt::Display for TuningEvent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let milliseconds = |period: &Duration| format!("{:.2} ms", 1e3 * period.as_secs_f64());
        write!(formatter, "{:.1} s: ", self.at.as_secs_f64())?;
        match &self.kind {
            TuningEventKind::Drift { reason, period } => {
                write!(formatter, "{reason}; a frame every {}", milliseconds(period))
            }
            TuningEventKind::Trial { configuration, period } => {
                write!(formatter, "tried {configuration}: a frame every {}", milliseconds(period))
            }
            TuningEventKind::Refused { configuration, reason } => {
                write!(formatter, "could not try {configuration}: {reason}")
            }
            TuningEventKind::Settled { configuration, period } => {
                write!(formatter, "goes on with {configuration}: a frame every {}", milliseconds(period))
            }
        }
    }
}

/// How often a window looks whether it has seen enough.
const LOOK: Duration = Duration::from_millis(10);
/// A window that still lacks frames ends after so many times its length.
const PATIENCE: u32 = 10;
/// Frames per replica that a new schedule works on before it is watched.
const WARM_UP: u64 = 3;

/// Frames and busy time of a replica.
type Count = (u64, Duration);
/// Of each replica, stage by stage.
type Counts = Vec<Vec<Count>>;

fn counts(metrics: &[StageMetrics]) -> Counts {
    let stage = |stage: &StageMetrics| stage.replicas.iter().map(|replica| (replica.frames, replica.busy)).collect();
    metrics.iter().map(stage).collect()
}

impl Engine {
    /// Watches the running schedule until `is_over` says so, and replaces it when conditions change: a neighbour keeps a core
    /// busy, a clock goes down, or either goes back. After a change, schedules that `planner` proposes are tried, at most
    /// [`TuningPolicy::trials`], each for a window; the best one measured stays, the one that was there included. Frames flow
    /// meanwhile: somebody else must submit them and receive the results.
    ///
    /// `report` is told what happens; everything it was told is returned.
    ///
    /// # Errors
    /// [`RuntimeError::Stopped`] if the engine can't take frames any more, and [`RuntimeError::Planner`].
    pub fn tune(
        &self,
        planner: &mut dyn Planner,
        policy: &TuningPolicy,
        is_over: &dyn Fn() -> bool,
        report: &mut dyn FnMut(&TuningEvent),
    ) -> Result<Vec<TuningEvent>, RuntimeError> {
        let mut tuning = Tuning {
            engine: self,
            policy,
            is_over,
            report,
            watch: CoreWatch::new(),
            began: Instant::now(),
            events: Vec::new(),
        };
        tuning.run(planner)?;
        Ok(tuning.events)
    }

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
        let limit = policy.window * PATIENCE;
        let warm = |counts: &Counts| counts.iter().flatten().all(|(frames, _)| *frames >= WARM_UP);
        self.wait(limit, is_over, &mut |counts, _| warm(counts));
        let before = counts(&self.metrics());
        // What cores did until here is nobody's business.
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
            std::thread::sleep(LOOK);
        }
    }
}

struct Tuning<'a> {
    engine: &'a Engine,
    policy: &'a TuningPolicy,
    is_over: &'a dyn Fn() -> bool,
    report: &'a mut dyn FnMut(&TuningEvent),
    watch: CoreWatch,
    began: Instant,
    events: Vec<TuningEvent>,
}

impl Tuning<'_> {
    fn tell(&mut self, kind: TuningEventKind) {
        let event = TuningEvent { at: self.began.elapsed(), kind };
        (self.report)(&event);
        self.events.push(event);
    }

    fn measure(&self, seen: &Observation) -> Duration {
        self.policy.goal.measure(seen.period, seen.latency)
    }

    fn observe(&mut self) -> Result<Option<Observation>, RuntimeError> {
        self.engine.observe(&mut self.watch, self.policy, self.is_over)
    }

    fn run(&mut self, planner: &mut dyn Planner) -> Result<(), RuntimeError> {
        let mut reference = None;
        let mut is_suspected = false;
        while !(self.is_over)() {
            let Some(seen) = self.observe()? else { continue };
            let Some(known) = &reference else {
                reference = if self.policy.at_once { self.search(planner, seen)? } else { Some(seen) };
                continue;
            };
            match drift(known, &seen, self.policy.drift) {
                Some(reason) if is_suspected => {
                    self.tell(TuningEventKind::Drift { reason, period: seen.period });
                    planner.forget();
                    reference = self.search(planner, seen)?;
                    is_suspected = false;
                }
                found => is_suspected = found.is_some(),
            }
        }
        Ok(())
    }

    /// Tries what the planner proposes, and keeps the best. Returns what that shows at work.
    fn search(&mut self, planner: &mut dyn Planner, start: Observation) -> Result<Option<Observation>, RuntimeError> {
        let mut best = start.clone();
        let mut last = start.clone();
        for _ in 0..self.policy.trials {
            let proposed = planner.propose(&last).map_err(RuntimeError::Planner)?;
            let Some(schedule) = proposed else { break };
            let configuration = schedule.to_string();
            if let Err(failure) = self.engine.reschedule(&schedule) {
                self.tell(TuningEventKind::Refused { configuration, reason: failure.to_string() });
                break;
            }
            let Some(seen) = self.observe()? else { break };
            self.tell(TuningEventKind::Trial { configuration, period: seen.period });
            if self.measure(&seen).as_secs_f64() < self.measure(&best).as_secs_f64() * (1.0 - self.policy.gain) {
                best = seen.clone();
            }
            last = seen;
        }
        let mut settled = self.settle(&last.schedule, best)?;
        // A trial that was lucky must not leave less than there was.
        if let Some(now) = &settled
            && now.schedule != start.schedule
            && self.measure(now) > self.measure(&start)
        {
            let was_at_work = now.schedule.clone();
            settled = self.settle(&was_at_work, start)?;
        }
        if let Some(now) = &settled {
            let (configuration, period) = (now.schedule.to_string(), now.period);
            self.tell(TuningEventKind::Settled { configuration, period });
        }
        Ok(settled)
    }

    /// Has the best schedule at work, and watches it if it was not.
    fn settle(&mut self, at_work: &Schedule, best: Observation) -> Result<Option<Observation>, RuntimeError> {
        if *at_work == best.schedule && self.engine.schedule()? == best.schedule {
            return Ok(Some(best));
        }
        self.engine.reschedule(&best.schedule)?;
        self.observe()
    }
}
