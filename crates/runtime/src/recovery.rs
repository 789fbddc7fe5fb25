//! What a replica does that can't go on: it is prepared again, and its frames wait, go elsewhere or fail.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::crew::Crew;
use crate::packet::Packet;
use crate::sync::{Ordering, lock, now};
use crate::worker::{Left, Worker};

impl Worker {
    /// Leads a replica until no more frames can come, through as many crews as it takes.
    pub(crate) fn serve(self: Arc<Self>, mut crew: Crew) {
        loop {
            let failed = match self.work(&mut crew) {
                Left::Over | Left::GivenUp => return,
                Left::Lost(failed) => *failed,
            };
            match self.recover(failed, Some(crew)) {
                Some(new) => crew = new,
                None => return,
            }
        }
    }

    /// Starts another leader in place of one that is stuck with a frame, who passes the answer on in its place. Tells whether that
    /// succeeded.
    pub(crate) fn replace(self: &Arc<Self>, answer: Packet) -> bool {
        let worker = Arc::clone(self);
        let recover = move || {
            worker.post.recorder.record_failure();
            if let Some(crew) = worker.recover(answer, None) {
                worker.serve(crew);
            }
        };
        match self.dispatch.spawn(&self.name(), recover) {
            Ok(()) => true,
            Err(error) => {
                self.dispatch
                    .warn(format!("{} is stuck, and no thread can be started in its place: {error}", self.name()));
                false
            }
        }
    }

    /// Passes on the frame that a replica was lost with, lets go of those who worked on it, and prepares the replica again, after a pause.
    /// `None` once there is no use in that, and its frames are answered.
    fn recover(self: &Arc<Self>, failed: Packet, lost: Option<Crew>) -> Option<Crew> {
        let is_alone = self.replicas.working.fetch_sub(1, Ordering::SeqCst) == 1;
        // Before the frame: whoever receives it may count on what comes next.
        let goes_elsewhere =
            is_alone && self.keeps_frames.load(Ordering::SeqCst) && self.dispatch.give_way(self.generation);
        if !self.pass_on(failed) {
            return None;
        }
        // What a backend lost may panic again when it is let go of.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(lost)));
        if goes_elsewhere {
            self.drain();
            return None;
        }
        loop {
            let Some(pause) = lock(&self.post.restarts).next(now()) else {
                self.dispatch.warn(format!("{} was lost too often: it takes no more frames", self.name()));
                break;
            };
            if self.dispatch.stop.wait(pause) {
                return None;
            }
            match self.hiring.again(&self.dispatch, &self.name()) {
                Ok(crew) => {
                    self.post.set_team(crew.team());
                    self.post.recorder.record_restart();
                    self.replicas.working.fetch_add(1, Ordering::SeqCst);
                    return Some(crew);
                }
                Err(error) => self.dispatch.warn(format!("{} can't be started again: {error}", self.name())),
            }
        }
        if self.resign() {
            self.drain();
        }
        None
    }

    /// Gives the replica up for good; tells whether it was the stage's last.
    fn resign(&self) -> bool {
        self.replicas.hopeful.fetch_sub(1, Ordering::SeqCst) == 1
    }

    /// Answers the frames of a stage that has no replica, until no more can come: they start again where there is another schedule, and
    /// fail otherwise.
    fn drain(&self) {
        while let Some((mut packet, _)) = self.next(now()) {
            if packet.failure.is_none() {
                match self.dispatch.take_over(packet, self.generation) {
                    Ok(()) => {
                        let _ = self.tokens.1.try_recv();
                        continue;
                    }
                    Err(back) => packet = back,
                }
                packet.failure = Some(self.lost());
            }
            if !self.pass_on(packet) {
                return;
            }
        }
    }
}
