//! Recovery of a lost replica: it is restarted, and its frames wait, go to another schedule or fail.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::led_team::LedTeam;
use crate::packet::Packet;
use crate::replica_id::ReplicaId;
use crate::replica_state::Supervised;
use crate::sync::{Ordering, lock, now};
use crate::worker::{Exit, Worker};

impl Supervised for Worker {
    fn id(&self) -> ReplicaId {
        self.id
    }

    fn replace(self: Arc<Self>, answer: Packet) -> bool {
        let worker = Arc::clone(&self);
        let recover = move || {
            worker.state.recorder.record_failure();
            worker.recover(answer, None);
        };
        match self.dispatch.threads.spawn(&self.name(), recover) {
            Ok(()) => true,
            Err(error) => {
                self.dispatch
                    .warn(format!("{} is stuck, and no thread can be started in its place: {error}", self.name()));
                false
            }
        }
    }
}

impl Worker {
    /// Leads a replica until no more frames can come, or it is lost; the next worker then has a thread of its own.
    pub(crate) fn serve(self: Arc<Self>, mut led: LedTeam) {
        if let Exit::Lost(failed) = self.work(&mut led) {
            self.recover(*failed, Some(led));
        }
    }

    /// Passes on the frame that a replica was lost with, lets go of those who worked on it, and has the replica
    /// prepared again where there is use in it.
    fn recover(self: &Arc<Self>, failed: Packet, lost: Option<LedTeam>) {
        let is_alone = self.replicas.working.fetch_sub(1, Ordering::SeqCst) == 1;
        // Before the frame: whoever receives it may count on what comes next.
        let goes_elsewhere =
            is_alone && self.keeps_frames.load(Ordering::SeqCst) && self.dispatch.switch_to_fallback(self.generation);
        if !self.pass_on(failed) {
            return;
        }
        if let Some(lost) = lost {
            drop_quietly(lost);
        }
        if goes_elsewhere {
            self.drain();
        } else {
            let pause = lock(&self.state.restarts).after_loss(now());
            self.restart(pause);
        }
    }

    /// Answers the frames of a stage that has no replica, until no more can come.
    pub(crate) fn drain(&self) {
        while let Some((packet, _)) = self.next(now()) {
            if !self.answer(packet) {
                return;
            }
        }
    }

    /// Answers a frame that no replica can work on: it starts again where there is another schedule, and fails
    /// otherwise. False if nobody wants answers.
    pub(crate) fn answer(&self, mut packet: Packet) -> bool {
        if packet.failure.is_none() {
            match self.dispatch.restart_frame_elsewhere(packet, self.generation) {
                Ok(()) => {
                    self.in_flight.release();
                    return true;
                }
                Err(back) => packet = back,
            }
            packet.failure = Some(self.lost());
        }
        self.pass_on(packet)
    }
}

/// Drops what a backend made, which may panic again after it was lost.
pub(crate) fn drop_quietly(led: LedTeam) {
    let _ = catch_unwind(AssertUnwindSafe(|| drop(led)));
}
