//! What the schedules of an engine share: where frames go, the replicas to supervise, and the end.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use crate::generation::Generation;
use crate::generation_id::GenerationId;
use crate::packet::Packet;
use crate::replica_state::ReplicaState;
use crate::stop::Stop;
use crate::sync::channel::Sender;
use crate::sync::thread::park_timeout;
use crate::sync::{AtomicU64, Mutex, Ordering, lock, now};
use crate::threads::Threads;

/// How long the threads of an engine that is dropped may take to end. A thread that is stuck for longer, in an operator
/// that nothing can end, is left behind.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(800);
/// Threads that only wait end at once.
const SHORTEST_PAUSE: Duration = Duration::from_micros(50);
/// Between two attempts to end what runs: a segment may begin just after one.
pub(crate) const CANCEL_INTERVAL: Duration = Duration::from_millis(10);
/// More warnings than these tell nothing new.
const MOST_WARNINGS: usize = 256;

/// Where frames go. Shared by the engine with all threads of all its schedules.
pub(crate) struct Dispatch {
    schedules: Mutex<Schedules>,
    replicas: Mutex<Vec<Weak<ReplicaState>>>,
    pub(crate) threads: Arc<Threads>,
    /// Schedules that were started.
    generations: AtomicU64,
    warnings: Mutex<Vec<String>>,
    pub(crate) exit: Sender<Packet>,
    pub(crate) stop: Stop,
}

#[derive(Default)]
struct Schedules {
    /// Where new frames go. `None` once the engine ends.
    current: Option<Arc<Generation>>,
    /// What becomes the current one when that has lost all replicas of a stage.
    fallback: Option<Arc<Generation>>,
}

impl Dispatch {
    pub(crate) fn new(exit: Sender<Packet>) -> Arc<Self> {
        Arc::new(Self {
            schedules: Mutex::default(),
            replicas: Mutex::default(),
            threads: Arc::default(),
            generations: AtomicU64::new(0),
            warnings: Mutex::default(),
            exit,
            stop: Stop::default(),
        })
    }

    pub(crate) fn next_id(&self) -> GenerationId {
        GenerationId(self.generations.fetch_add(1, Ordering::SeqCst))
    }

    /// The schedule that new frames go to.
    pub(crate) fn current(&self) -> Option<Arc<Generation>> {
        lock(&self.schedules).current.clone()
    }

    pub(crate) fn is_current(&self, id: GenerationId) -> bool {
        lock(&self.schedules).current.as_ref().is_some_and(|current| current.id == id)
    }

    /// Has new frames go to `generation`, whatever became of the one before.
    pub(crate) fn set_current(&self, generation: Generation) {
        let mut schedules = lock(&self.schedules);
        // From the first frame on, since all of them are to go on elsewhere.
        generation.keeps_frames.store(schedules.fallback.is_some(), Ordering::SeqCst);
        let before = schedules.current.replace(Arc::new(generation));
        drop(schedules);
        // Its frames may have to be let go of, which should not hold up others.
        drop(before);
    }

    pub(crate) fn set_fallback(&self, generation: Generation) {
        lock(&self.schedules).fallback = Some(Arc::new(generation));
    }

    /// Notes that a stage of a schedule has no replica at work: the fallback takes its place, if it is the current one
    /// and there is a fallback. Tells whether its frames can go on elsewhere.
    pub(crate) fn switch_to_fallback(&self, id: GenerationId) -> bool {
        let mut schedules = lock(&self.schedules);
        if schedules.current.as_ref().is_none_or(|current| current.id != id) {
            return schedules.current.is_some();
        }
        let Some(fallback) = schedules.fallback.take() else { return false };
        let lost = schedules.current.replace(fallback);
        drop(schedules);
        self.warn("a stage of the schedule was lost: its fallback runs from now on".to_owned());
        drop(lost);
        true
    }

    /// Starts a frame again that a schedule can't go on with; gives it back if there is no other schedule.
    pub(crate) fn restart_frame_elsewhere(&self, mut packet: Packet, from: GenerationId) -> Result<(), Packet> {
        let Some(current) = self.current().filter(|current| current.id != from && packet.can_start_again()) else {
            return Err(packet);
        };
        packet.start_again(&current.route);
        // Fails only if the schedule was replaced and lost all its threads meanwhile.
        current.entrance.send(packet).map_err(|refused| refused.0)
    }

    /// Has a replica watched from now on, for as long as it exists.
    pub(crate) fn register(&self, replica: &Arc<ReplicaState>) {
        let mut replicas = lock(&self.replicas);
        replicas.retain(|replica| replica.strong_count() > 0);
        replicas.push(Arc::downgrade(replica));
    }

    /// The replicas of all schedules that still have frames.
    pub(crate) fn replicas(&self) -> Vec<Arc<ReplicaState>> {
        lock(&self.replicas).iter().filter_map(Weak::upgrade).collect()
    }

    /// Keeps a warning, unless it is known.
    pub(crate) fn warn(&self, warning: String) {
        let mut warnings = lock(&self.warnings);
        if warnings.len() < MOST_WARNINGS && !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }

    pub(crate) fn warnings(&self) -> Vec<String> {
        lock(&self.warnings).clone()
    }

    /// Ends all threads: what waits is let go of, what runs is cancelled, and what can't be is left behind after a
    /// moment.
    pub(crate) fn shut_down(&self) {
        self.stop.set();
        let schedules = std::mem::take(&mut *lock(&self.schedules));
        drop(schedules);
        let start = now();
        let mut pause = SHORTEST_PAUSE;
        while !self.are_done(start) {
            self.replicas().iter().for_each(|replica| replica.cancel());
            park_timeout(pause);
            pause = (2 * pause).min(CANCEL_INTERVAL);
        }
        self.threads.join_finished();
    }

    /// Whether all threads have ended, or there is no use in waiting for them.
    fn are_done(&self, start: Instant) -> bool {
        self.threads.are_finished() || now().duration_since(start) >= SHUTDOWN_TIMEOUT
    }
}
