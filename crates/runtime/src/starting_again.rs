//! How a lost replica is prepared again: by a thread of its own, while another one looks after the frames of its stage.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::RuntimeError;
use crate::recovery::let_go;
use crate::restarts::Pause;
use crate::sync::channel::{Receiver, RecvTimeoutError, Sender, bounded};
use crate::sync::{Ordering, lock, now};
use crate::worker::{Incoming, Worker};

/// How often somebody who waits looks whether there still is use in it, and whether frames have anybody else.
const LOOK: Duration = Duration::from_millis(50);
/// How long frames wait for one preparation where they have a time limit; as long as that limit, if it is longer.
const PREPARATION: Duration = Duration::from_mins(1);

/// A thread that prepares a replica.
struct Attempt {
    /// What becomes of it.
    outcome: Receiver<Result<(), RuntimeError>>,
    /// It serves the replica once this is sent, and ends if it can't be any more.
    go: Sender<()>,
}

/// What a wait ends with.
enum Waited {
    /// The time is over.
    Elapsed,
    /// The attempt is.
    Done(Result<(), RuntimeError>),
    /// There is no use in another attempt, and the frames are answered.
    Over,
}

/// The wait for a replica.
struct Wait<'a> {
    worker: &'a Arc<Worker>,
    /// Whether frames wait as well. Once they don't, they are answered without the replica until it works.
    has_hope: bool,
}

impl Worker {
    /// Has the replica prepared again, after a pause, as often as it takes.
    pub(crate) fn start_again(self: &Arc<Self>, mut pause: Option<Pause>) {
        let mut wait = Wait { worker: self, has_hope: true };
        loop {
            let time = match pause {
                Some(Pause::Short(time)) => time,
                Some(Pause::Long(time)) => {
                    wait.lose_hope("it was lost too often, or can't be started");
                    time
                }
                None => {
                    self.dispatch.warn(format!("{} was lost: it takes no more frames", self.name()));
                    return wait.give_up();
                }
            };
            if !matches!(wait.pause(time), Waited::Elapsed) {
                return;
            }
            let outcome = match self.attempt() {
                Ok(attempt) => match wait.preparation(&attempt) {
                    Waited::Done(Ok(())) => return wait.hand_over(&attempt),
                    Waited::Done(Err(error)) => error,
                    Waited::Elapsed | Waited::Over => return,
                },
                Err(error) => error,
            };
            self.dispatch.warn(format!("{} can't be started again: {outcome}", self.name()));
            pause = Some(lock(&self.post.restarts).after_failure());
        }
    }

    /// Starts a thread that prepares the replica, and serves it once it may.
    fn attempt(self: &Arc<Self>) -> Result<Attempt, RuntimeError> {
        let (tell, outcome) = bounded(1);
        let (go, may_go) = bounded(1);
        let worker = Arc::clone(self);
        let work = move || match worker.hiring.again(&worker.dispatch, &worker.name()) {
            Ok(crew) => {
                let _ = tell.send(Ok(()));
                if may_go.recv().is_err() {
                    return let_go(crew);
                }
                worker.post.set_team(crew.team());
                worker.post.recorder.record_restart();
                worker.replicas.working.fetch_add(1, Ordering::SeqCst);
                worker.serve(crew);
            }
            Err(error) => {
                let _ = tell.send(Err(error));
            }
        };
        self.dispatch.spawn(&self.name(), work)?;
        Ok(Attempt { outcome, go })
    }
}

impl Wait<'_> {
    /// From now on frames don't wait.
    fn lose_hope(&mut self, why: &str) {
        if self.has_hope {
            self.has_hope = false;
            self.worker.replicas.hopeful.fetch_sub(1, Ordering::SeqCst);
            let name = self.worker.name();
            self.worker.dispatch.warn(format!("{name} takes no frames until it works again: {why}"));
        }
    }

    /// The replica is not prepared any more.
    fn give_up(self) {
        if self.has_hope {
            self.worker.replicas.hopeful.fetch_sub(1, Ordering::SeqCst);
        }
        if !self.has_others() {
            self.worker.drain();
        }
    }

    /// Whoever prepared the replica serves it.
    fn hand_over(self, attempt: &Attempt) {
        if !self.has_hope {
            self.worker.replicas.hopeful.fetch_add(1, Ordering::SeqCst);
        }
        let _ = attempt.go.send(());
    }

    /// Whether frames have another replica to wait for.
    fn has_others(&self) -> bool {
        self.worker.replicas.hopeful.load(Ordering::SeqCst) > 0
    }

    fn pause(&self, time: Duration) -> Waited {
        self.until(Some(now() + time), None)
    }

    /// Waits for an attempt to end. It may take as long as it likes, but frames don't wait so long where they have a time limit.
    fn preparation(&mut self, attempt: &Attempt) -> Waited {
        if self.has_hope {
            let until = self.worker.hiring.options.time_limit().map(|limit| now() + limit.max(PREPARATION));
            match self.until(until, Some(attempt)) {
                Waited::Elapsed => self.lose_hope("starting it again takes too long"),
                other => return other,
            }
        }
        self.until(None, Some(attempt))
    }

    /// Waits for an instant or the end of an attempt, and looks after the frames that nobody else will.
    fn until(&self, end: Option<Instant>, attempt: Option<&Attempt>) -> Waited {
        loop {
            let left = end.map_or(LOOK, |end| end.saturating_duration_since(now()).min(LOOK));
            if left.is_zero() {
                return Waited::Elapsed;
            }
            if self.worker.dispatch.stop.is_set() {
                return Waited::Over;
            }
            // A schedule that was replaced never comes back.
            if !self.has_hope && !self.worker.dispatch.is_current(self.worker.generation) {
                if !self.has_others() {
                    self.worker.drain();
                }
                return Waited::Over;
            }

            let is_alone = !self.has_hope && !self.has_others();
            if is_alone && !self.answer_next(left) {
                return Waited::Over;
            }
            let patience = if is_alone { Duration::ZERO } else { left };
            match attempt {
                Some(attempt) => {
                    if let Some(outcome) = attempt.within(patience) {
                        return Waited::Done(outcome);
                    }
                }
                None => {
                    self.worker.dispatch.stop.wait(patience);
                }
            }
        }
    }

    /// Answers a frame if one comes soon. False if no more can come.
    fn answer_next(&self, time: Duration) -> bool {
        match self.worker.next_within(time) {
            Incoming::Frame(packet) => self.worker.answer(packet),
            Incoming::None => true,
            Incoming::Over => false,
        }
    }
}

impl Attempt {
    /// What becomes of it, if that is known soon.
    fn within(&self, time: Duration) -> Option<Result<(), RuntimeError>> {
        match self.outcome.recv_timeout(time) {
            Ok(outcome) => Some(outcome),
            Err(RecvTimeoutError::Timeout) => None,
            // Its thread ended without a word.
            Err(RecvTimeoutError::Disconnected) => Some(Err(RuntimeError::Stopped)),
        }
    }
}
