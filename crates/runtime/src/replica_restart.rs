//! How a lost replica is prepared again.
//!
//! The thread that lost it, or that was started because it is stuck, runs a `ReplicaRestart`: it decides when the
//! replica is prepared again, and answers the frames of a stage that nobody works for. Each attempt has a thread of its
//! own, which a backend may hold up for as long as it likes. When one succeeds, its thread serves the replica from then
//! on, and the thread of the restart ends.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::error::RuntimeError;
use crate::recovery::drop_quietly;
use crate::restarts::Pause;
use crate::sync::channel::{Receiver, RecvTimeoutError, Sender, bounded};
use crate::sync::{Ordering, lock, now};
use crate::team_factory::TeamFactory;
use crate::threads::Threads;
use crate::worker::{Closed, Worker};

/// How often a restart whose frames wait looks whether the engine ends.
const STOP_POLL_INTERVAL: Duration = Duration::from_millis(50);
/// How often one looks for a frame to answer where there was none.
const FRAME_POLL_INTERVAL: Duration = Duration::from_millis(5);
/// How long after a frame the next one is answered, so that a source without an end does not lose them by the million
/// while a device is away.
const ANSWER_INTERVAL: Duration = Duration::from_millis(1);
/// How long frames wait for one preparation where they have a time limit; as long as that limit, if it is longer.
const PREPARATION_LIMIT: Duration = Duration::from_mins(1);

/// A thread that prepares a replica.
struct Attempt {
    /// What becomes of it.
    outcome: Receiver<Result<(), RuntimeError>>,
    /// It serves this replica once it is sent, and ends if it can't be any more.
    go: Sender<Arc<Worker>>,
}

/// What a wait ends with.
enum WaitOutcome {
    /// The time is over.
    Elapsed,
    /// The attempt is.
    Done(Result<(), RuntimeError>),
    /// No more frames come.
    Closed,
}

/// What became of looking for a frame to answer.
enum AnswerOutcome {
    Frame,
    /// None is there.
    None,
    /// Frames wait, or have another replica.
    NotHere,
    /// No more come.
    Closed,
}

/// A replica that does not work until it is prepared again.
struct ReplicaRestart {
    worker: Arc<Worker>,
    /// Whether frames wait for the replica. Once they don't, they are answered without it until it works.
    is_awaited: bool,
}

impl Worker {
    /// Has the replica prepared again, after a pause, as often as it takes.
    pub(crate) fn restart(self: &Arc<Self>, mut pause: Option<Pause>) {
        let mut restart = ReplicaRestart { worker: Arc::clone(self), is_awaited: true };
        loop {
            let time = match pause {
                Some(Pause::FramesWait(time)) => time,
                Some(Pause::FramesGo(time)) => {
                    restart.stop_waiting("it was lost too often, or can't be started");
                    time
                }
                None => {
                    self.dispatch.warn(format!("{} was lost: it takes no more frames", self.name()));
                    return restart.stop_restarting();
                }
            };

            if !matches!(restart.pause(time), WaitOutcome::Elapsed) {
                return;
            }
            if restart.is_useless() {
                return restart.stop_restarting();
            }

            let error = match attempt(&self.factory, &self.dispatch.threads, &self.name()) {
                Ok(attempt) => match restart.preparation(&attempt) {
                    WaitOutcome::Done(Ok(())) => return restart.hand_over(&attempt),
                    WaitOutcome::Done(Err(error)) => error,
                    WaitOutcome::Elapsed | WaitOutcome::Closed => return,
                },
                Err(error) => error,
            };
            self.dispatch.warn(format!("{} can't be started again: {error}", self.name()));
            pause = Some(lock(&self.state.restarts).after_failure());
        }
    }
}

/// Starts a thread that prepares a replica. As long as it does, it holds nothing that others wait for.
fn attempt(factory: &Arc<TeamFactory>, threads: &Arc<Threads>, name: &str) -> Result<Attempt, RuntimeError> {
    let (tell, outcome) = bounded(1);
    let (go, may_go) = bounded::<Arc<Worker>>(1);
    let (factory, label, shared) = (Arc::clone(factory), name.to_owned(), Arc::clone(threads));
    let work = move || match factory.again(&shared, &label) {
        Ok(led) => {
            let _ = tell.send(Ok(()));
            let Ok(worker) = may_go.recv() else { return drop_quietly(led) };
            worker.state.set_team(led.team());
            worker.state.recorder.record_restart();
            worker.replicas.working.fetch_add(1, Ordering::SeqCst);
            worker.serve(led);
        }
        Err(error) => {
            let _ = tell.send(Err(error));
        }
    };
    threads.spawn(name, work)?;
    Ok(Attempt { outcome, go })
}

impl ReplicaRestart {
    /// From now on frames don't wait.
    fn stop_waiting(&mut self, why: &str) {
        if self.is_awaited {
            self.is_awaited = false;
            *lock(&self.worker.replicas.awaited) -= 1;
            let name = self.worker.name();
            self.worker.dispatch.warn(format!("{name} takes no frames until it works again: {why}"));
        }
    }

    /// Whether nothing would come to the replica: its schedule was replaced, and frames on their way don't wait.
    fn is_useless(&self) -> bool {
        !self.is_awaited && !self.worker.dispatch.is_current(self.worker.generation)
    }

    /// The replica is not prepared any more: only frames are answered.
    fn stop_restarting(mut self) {
        if self.is_awaited {
            self.is_awaited = false;
            *lock(&self.worker.replicas.awaited) -= 1;
        }
        // Replicas that are lost later have restarts of their own.
        while *lock(&self.worker.replicas.awaited) == 0 {
            if matches!(self.until(Some(now() + STOP_POLL_INTERVAL), None), WaitOutcome::Closed) {
                return;
            }
        }
    }

    /// Waits so long, or until the replica is of no use any more.
    fn pause(&self, time: Duration) -> WaitOutcome {
        let end = now() + time;
        loop {
            let next = end.min(now() + STOP_POLL_INTERVAL);
            match self.until(Some(next), None) {
                WaitOutcome::Elapsed if next < end && !self.is_useless() => {}
                ended => return ended,
            }
        }
    }

    /// Whoever prepared the replica serves it.
    fn hand_over(self, attempt: &Attempt) {
        if !self.is_awaited {
            *lock(&self.worker.replicas.awaited) += 1;
        }
        let _ = attempt.go.send(self.worker);
    }

    /// Waits for an attempt to end. It may take as long as it likes, but frames don't wait so long where they have a
    /// time limit.
    fn preparation(&mut self, attempt: &Attempt) -> WaitOutcome {
        if self.is_awaited {
            let until = self.worker.factory.options.time_limit().map(|limit| now() + limit.max(PREPARATION_LIMIT));
            match self.until(until, Some(attempt)) {
                WaitOutcome::Elapsed => self.stop_waiting("starting it again takes too long"),
                other => return other,
            }
        }
        self.until(None, Some(attempt))
    }

    /// Waits for an instant or the end of an attempt, and answers the frames that nobody else will.
    fn until(&self, end: Option<Instant>, attempt: Option<&Attempt>) -> WaitOutcome {
        loop {
            if self.worker.dispatch.stop.is_set() {
                return WaitOutcome::Closed;
            }
            let left =
                end.map_or(STOP_POLL_INTERVAL, |end| end.saturating_duration_since(now()).min(STOP_POLL_INTERVAL));
            if left.is_zero() {
                return WaitOutcome::Elapsed;
            }
            let interval = match self.answer_one() {
                AnswerOutcome::Closed => return WaitOutcome::Closed,
                AnswerOutcome::Frame => left.min(ANSWER_INTERVAL),
                AnswerOutcome::None => left.min(FRAME_POLL_INTERVAL),
                AnswerOutcome::NotHere => left,
            };
            match attempt {
                Some(attempt) => {
                    if let Some(outcome) = attempt.within(interval) {
                        return WaitOutcome::Done(outcome);
                    }
                }
                None => {
                    self.worker.dispatch.stop.wait(interval);
                }
            }
        }
    }

    /// Answers a frame if one is there.
    fn answer_one(&self) -> AnswerOutcome {
        if self.is_awaited {
            return AnswerOutcome::NotHere;
        }
        // While this is locked no other replica comes back, which would have this frame.
        let awaited = lock(&self.worker.replicas.awaited);
        if *awaited > 0 {
            return AnswerOutcome::NotHere;
        }
        let incoming = self.worker.try_next();
        drop(awaited);
        match incoming {
            Ok(Some(packet)) => {
                if self.worker.answer(packet) {
                    AnswerOutcome::Frame
                } else {
                    AnswerOutcome::Closed
                }
            }
            Ok(None) => AnswerOutcome::None,
            Err(Closed) => AnswerOutcome::Closed,
        }
    }
}

impl Attempt {
    /// What becomes of it, if that is known soon.
    fn within(&self, time: Duration) -> Option<Result<(), RuntimeError>> {
        match self.outcome.recv_timeout(time) {
            Ok(outcome) => Some(outcome),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(Err(std::io::Error::other("its thread has ended").into())),
        }
    }
}
