//! The state of a replica that survives restarts of its threads.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::error::FrameError;
use crate::led_team::LedTeam;
use crate::metrics::Recorder;
use crate::options::EngineOptions;
use crate::packet::Packet;
use crate::permits::Permits;
use crate::replica_id::ReplicaId;
use crate::restarts::Restarts;
use crate::sync::{AtomicU64, Mutex, Ordering, lock, now};
use crate::team::Team;

/// How long a frame that was cancelled may take to end before its replica is given up.
const CANCEL_GRACE: Duration = Duration::from_millis(500);

/// One replica, whichever threads work for it.
pub(crate) struct ReplicaState {
    pub(crate) recorder: Recorder,
    /// How long each processor has worked.
    pub(crate) busy: Arc<[AtomicU64]>,
    pub(crate) restarts: Mutex<Restarts>,
    /// Those who work there now.
    team: Mutex<Arc<Team>>,
    /// The frame that is worked on, where frames have a time limit.
    running: Mutex<Option<Running>>,
    limit: Option<Duration>,
    /// Of the frames in flight in all stages.
    in_flight: Permits,
}

/// The threads that work for a replica, for the thread that supervises it.
pub(crate) trait Supervised: Send + Sync {
    /// The replica.
    fn id(&self) -> ReplicaId;

    /// Has the replica prepared again in place of one that is stuck with a frame, whose `answer` is passed on instead.
    /// Tells whether that could begin.
    fn replace(self: Arc<Self>, answer: Packet) -> bool;
}

/// A frame that is being worked on.
struct Running {
    worker: Arc<dyn Supervised>,
    /// The threads that work on it. One that was stuck and comes back finds others here, at work for the same worker.
    team: Arc<Team>,
    /// What is sent on if the frame never ends.
    stand_in: Packet,
    until: Instant,
    cancelled: Option<Instant>,
}

/// What becomes of a frame that was begun.
pub(crate) enum FrameEnd {
    /// It goes on.
    InTime,
    /// It was answered meanwhile, and other threads serve the replica now.
    Replaced,
}

impl ReplicaState {
    pub(crate) fn new(team: Arc<Team>, busy: Arc<[AtomicU64]>, options: &EngineOptions, in_flight: Permits) -> Self {
        Self {
            recorder: Recorder::new(),
            busy,
            restarts: Mutex::new(Restarts::new(options.restart_limit())),
            team: Mutex::new(team),
            running: Mutex::default(),
            limit: options.time_limit(),
            in_flight,
        }
    }

    pub(crate) fn team(&self) -> Arc<Team> {
        Arc::clone(&lock(&self.team))
    }

    pub(crate) fn set_team(&self, team: Arc<Team>) {
        *lock(&self.team) = team;
    }

    /// How long each processor has worked.
    pub(crate) fn busy(&self) -> Vec<Duration> {
        self.busy.iter().map(|busy| Duration::from_nanos(busy.load(Ordering::Relaxed))).collect()
    }

    pub(crate) fn reset_busy(&self) {
        self.busy.iter().for_each(|busy| busy.store(0, Ordering::Relaxed));
    }

    /// Has what runs end soon, and whoever waits to let another frame in go on, one at a time: for when the engine
    /// ends, where frames in flight no longer leave.
    pub(crate) fn cancel(&self) {
        self.team().cancel();
        self.in_flight.release();
    }

    /// Notes that a frame's work begins.
    pub(crate) fn begin(&self, worker: impl FnOnce() -> Arc<dyn Supervised>, led: &LedTeam, packet: &Packet) {
        if let Some(limit) = self.limit {
            let running = Running {
                worker: worker(),
                team: led.team(),
                stand_in: packet.stand_in(),
                until: now() + limit,
                cancelled: None,
            };
            *lock(&self.running) = Some(running);
        }
    }

    /// Notes that a frame's work is over; returns whether the frame is still there to go on.
    pub(crate) fn end(&self, led: &LedTeam) -> FrameEnd {
        if self.limit.is_none() {
            return FrameEnd::InTime;
        }
        let mut running = lock(&self.running);
        if !running.as_ref().is_some_and(|running| led.is(&running.team)) {
            return FrameEnd::Replaced;
        }
        *running = None;
        FrameEnd::InTime
    }

    /// Looks after the frame at hand: cancels it when its time is over, and gives it and those who work on it up when
    /// that does not help. Returns when to look again, if there is a frame.
    pub(crate) fn watch(&self, interval: Duration) -> Option<Instant> {
        let mut running = lock(&self.running);
        let now = now();
        let frame = running.as_mut().filter(|frame| frame.until <= now);
        let Some(frame) = frame else { return running.as_ref().map(|frame| frame.until) };

        let limit = self.limit.unwrap_or_default();
        let failure = FrameError::TimedOut { stage: frame.worker.id().stage, limit };
        let cancelled = *frame.cancelled.get_or_insert(now);
        if now.duration_since(cancelled) < CANCEL_GRACE {
            frame.team.abort(failure);
            return Some(now + interval);
        }
        let answer = Packet { failure: Some(failure), ..frame.stand_in.stand_in() };
        if Arc::clone(&frame.worker).replace(answer) {
            // Those who are stuck find nothing to go on with.
            *running = None;
            return None;
        }
        Some(now + interval)
    }
}
