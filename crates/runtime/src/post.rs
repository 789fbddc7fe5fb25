//! A replica's place in its stage: what outlives the threads that work there.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::FrameError;
use crate::metrics::Recorder;
use crate::packet::Packet;
use crate::restarts::Restarts;
use crate::sync::{AtomicU64, Mutex, Ordering, lock, now};
use crate::team::Team;
use crate::worker::Worker;

/// How long a frame that was cancelled may take to end before its replica is given up.
const GRACE: Duration = Duration::from_millis(500);

/// One replica, whichever threads work for it.
pub(crate) struct Post {
    pub(crate) recorder: Recorder,
    /// How long each processor has worked.
    pub(crate) busy: Arc<[AtomicU64]>,
    pub(crate) restarts: Mutex<Restarts>,
    /// Those who work there now.
    team: Mutex<Arc<Team>>,
    /// The frame that is worked on, where frames have a time limit.
    running: Mutex<Option<Running>>,
    limit: Option<Duration>,
}

/// A frame that is being worked on.
struct Running {
    worker: Arc<Worker>,
    /// What is sent on if the frame never ends.
    stand_in: Packet,
    until: Instant,
    cancelled: Option<Instant>,
}

/// What becomes of a frame that was begun.
pub(crate) enum Ended {
    /// It goes on.
    InTime,
    /// It was answered meanwhile, and somebody else works here now.
    GivenUp,
}

impl Post {
    pub(crate) fn new(team: Arc<Team>, busy: Arc<[AtomicU64]>, limit: Option<Duration>, restarts: usize) -> Self {
        Self {
            recorder: Recorder::new(),
            busy,
            restarts: Mutex::new(Restarts::new(restarts)),
            team: Mutex::new(team),
            running: Mutex::default(),
            limit,
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

    /// Has what runs end soon.
    pub(crate) fn cancel(&self) {
        self.team().cancel();
    }

    /// Notes that a frame's work begins.
    pub(crate) fn begin(&self, worker: &Arc<Worker>, packet: &Packet) {
        if let Some(limit) = self.limit {
            let running = Running {
                worker: Arc::clone(worker),
                stand_in: packet.stand_in(),
                until: now() + limit,
                cancelled: None,
            };
            *lock(&self.running) = Some(running);
        }
    }

    /// Notes that a frame's work is over; tells whether the frame is still there to go on.
    pub(crate) fn end(&self, worker: &Arc<Worker>) -> Ended {
        let mut running = lock(&self.running);
        let is_own = running.as_ref().is_some_and(|running| Arc::ptr_eq(&running.worker, worker));
        if self.limit.is_some() && !is_own {
            return Ended::GivenUp;
        }
        *running = None;
        Ended::InTime
    }

    /// Looks after the frame at hand: cancels it when its time is over, and gives it and those who work on it up when that does not help.
    /// Returns when to look again, if there is a frame.
    pub(crate) fn watch(&self, interval: Duration) -> Option<Instant> {
        let mut running = lock(&self.running);
        let now = now();
        let frame = running.as_mut().filter(|frame| frame.until <= now);
        let Some(frame) = frame else { return running.as_ref().map(|frame| frame.until) };

        let limit = self.limit.unwrap_or_default();
        let failure = FrameError::TimedOut { stage: frame.worker.stage + 1, limit };
        let cancelled = *frame.cancelled.get_or_insert(now);
        if now.duration_since(cancelled) < GRACE {
            self.team().abort(failure);
            return Some(now + interval);
        }
        let answer = Packet { failure: Some(failure), ..frame.stand_in.stand_in() };
        if frame.worker.replace(answer) {
            // Those who are stuck find nothing to go on with.
            *running = None;
            return None;
        }
        Some(now + interval)
    }
}
