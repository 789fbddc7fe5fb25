//! The loop that a replica's leading thread runs.

use std::sync::Arc;
use std::time::Instant;

use crossbeam_channel::{Receiver, Sender};
use millstream_backend::Tensor;
use millstream_graph::ValueId;

use crate::FrameError;
use crate::generation::Fallback;
use crate::metrics::Recorder;
use crate::packet::{Packet, StageSpan};
use crate::route::StageRoute;
use crate::team::{Condition, Prepared, Ready, Team};

/// Everything a worker needs.
pub(crate) struct Worker {
    pub(crate) stage: usize,
    pub(crate) replica: usize,
    pub(crate) team: Arc<Team>,
    pub(crate) route: StageRoute,
    pub(crate) incoming: Receiver<Packet>,
    pub(crate) outgoing: Sender<Packet>,
    /// The tokens of frames in flight: the first stage adds one per frame and waits for room, the last takes one away.
    pub(crate) tokens: (Sender<()>, Receiver<()>),
    pub(crate) is_first: bool,
    pub(crate) is_last: bool,
    /// Where frames go on once the replica can't run any more.
    pub(crate) fallback: Option<Fallback>,
    pub(crate) recorder: Arc<Recorder>,
}

impl Worker {
    /// Prepares the leader's segments and works until no more frames can come.
    pub(crate) fn run(self, ready: &Sender<Ready>) {
        if let Some(mut segments) = self.team.prepare(0, ready) {
            self.work(&mut segments);
        }
        self.team.end();
    }

    fn work(&self, segments: &mut Prepared) {
        let mut condition = Condition::Sound;
        let mut free_since = Instant::now();
        while let Some((mut packet, available)) = self.next(free_since) {
            if packet.failure.is_none() {
                if condition == Condition::Sound {
                    condition = self.work_on(segments, &mut packet, available);
                } else if let Some(fallback) = &self.fallback {
                    let _ = self.tokens.1.try_recv();
                    fallback.take_over(packet);
                    free_since = Instant::now();
                    continue;
                } else {
                    packet.failure = Some(FrameError::Lost { stage: self.stage + 1 });
                }
            }
            if packet.failure.is_some() {
                packet.values.fill(None);
            }
            packet.queued = Instant::now();
            if self.is_last {
                let _ = self.tokens.1.try_recv();
            }
            if self.outgoing.send(packet).is_err() {
                return;
            }
            free_since = Instant::now();
        }
    }

    /// The next frame, once there is one and it may be in flight, and since when it could have been worked on; `None` if no
    /// more can come.
    fn next(&self, free_since: Instant) -> Option<(Packet, Instant)> {
        let packet = self.incoming.recv().ok()?;
        let mut available = packet.queued.max(free_since);
        if self.is_first && self.tokens.0.try_send(()).is_err() {
            self.tokens.0.send(()).ok()?;
            available = Instant::now();
        }
        Some((packet, available))
    }

    /// Runs the stage on a frame; tells whether the replica can go on.
    ///
    /// The frame's time starts when it was `available` and the worker was free. What the system then takes to wake the
    /// worker is part of what the stage costs; on a core that is shared with other load it is a good part.
    fn work_on(&self, segments: &mut Prepared, packet: &mut Packet, available: Instant) -> Condition {
        let start = available;
        let boundary = &self.route.boundary;
        let input = |(&value, &slot): (&ValueId, &usize)| Some((value, packet.values.get(slot).cloned().flatten()?));
        let inputs: Vec<(ValueId, Tensor)> = boundary.inputs.iter().zip(&self.route.inputs).filter_map(input).collect();
        for &slot in &self.route.release {
            packet.values[slot] = None;
        }
        let mut condition = Condition::Sound;
        match self.team.run(segments, inputs.into_iter(), &boundary.outputs) {
            Ok(outputs) => {
                for (&slot, tensor) in self.route.outputs.iter().zip(outputs) {
                    packet.values[slot] = Some(tensor);
                }
            }
            Err((failure, now)) => {
                packet.failure = Some(failure);
                condition = now;
            }
        }
        let end = Instant::now();
        // Waiting for admission is the caller's doing, not the pipeline's.
        let queued = if self.is_first { start } else { packet.queued };
        self.recorder.record(queued, start, end, packet.failure.is_some());
        packet.steps.extend(self.team.take_steps());
        packet.spans.push(StageSpan { stage: self.stage, replica: self.replica, start, end });
        if condition != Condition::Sound
            && let Some(fallback) = &self.fallback
        {
            fallback.call();
        }
        condition
    }
}
