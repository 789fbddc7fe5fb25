//! The thread that leads a replica: it takes frames, works on them with its team, and passes them on.

use std::sync::Arc;
use std::time::Instant;

use millstream_backend::Tensor;
use millstream_graph::ValueId;

use crate::dispatch::Dispatch;
use crate::error::FrameError;
use crate::generation_id::GenerationId;
use crate::led_team::LedTeam;
use crate::packet::{Packet, StageSpan};
use crate::permits::Permits;
use crate::replica_id::ReplicaId;
use crate::replica_state::{FrameEnd, ReplicaState, Supervised};
use crate::route::{FrameSlot, StageRoute};
use crate::sync::channel::{Receiver, Sender, TryRecvError};
use crate::sync::{AtomicBool, AtomicUsize, Mutex, now};
use crate::team::{Failure, Health};
use crate::team_factory::TeamFactory;

/// Everything a replica's leader needs. The threads change when a replica is lost, this stays.
pub(crate) struct Worker {
    pub(crate) id: ReplicaId,
    pub(crate) generation: GenerationId,
    pub(crate) route: StageRoute,
    pub(crate) incoming: Receiver<Packet>,
    pub(crate) outgoing: Sender<Packet>,
    /// One permit for each frame in flight: the first stage takes it and waits for room, the last gives it back.
    pub(crate) in_flight: Permits,
    /// Of the generation.
    pub(crate) keeps_frames: Arc<AtomicBool>,
    pub(crate) is_first: bool,
    pub(crate) is_last: bool,
    pub(crate) dispatch: Arc<Dispatch>,
    pub(crate) state: Arc<ReplicaState>,
    pub(crate) factory: Arc<TeamFactory>,
    /// Of the whole stage.
    pub(crate) replicas: Arc<Replicas>,
}

/// How a stage's replicas are.
pub(crate) struct Replicas {
    /// Those that take frames.
    pub(crate) working: AtomicUsize,
    /// Those, and those that are being prepared again while frames wait for them. It grows only while this is locked,
    /// so that nobody fails a frame for want of a replica that is there.
    pub(crate) awaited: Mutex<usize>,
}

/// Why a leader stops taking frames.
pub(crate) enum Exit {
    /// No more can come.
    Closed,
    /// A thread panicked on this frame, or its device is gone.
    Lost(Box<Packet>),
    /// Other threads serve the replica now.
    Replaced,
}

/// No more frames come.
pub(crate) struct Closed;

impl Worker {
    pub(crate) fn name(&self) -> String {
        self.id.to_string()
    }

    /// Takes frames until no more can come, or this replica can't go on.
    pub(crate) fn work(self: &Arc<Self>, led: &mut LedTeam) -> Exit {
        let mut free_since = now();
        while let Some((mut packet, available)) = self.next(free_since) {
            if packet.failure.is_none() {
                match self.work_on(led, &mut packet, available) {
                    Some(Health::Usable) => {}
                    Some(Health::Lost) => return Exit::Lost(Box::new(packet)),
                    None => return Exit::Replaced,
                }
            }
            if !self.pass_on(packet) {
                return Exit::Closed;
            }
            free_since = now();
        }
        Exit::Closed
    }

    /// The next frame, once there is one and it may be in flight, and since when it could have been worked on; `None`
    /// if no more can come.
    pub(crate) fn next(&self, free_since: Instant) -> Option<(Packet, Instant)> {
        let packet = self.incoming.recv().ok()?;
        let mut available = packet.queued.max(free_since);
        if self.is_first && !self.in_flight.try_acquire() {
            self.in_flight.acquire();
            available = now();
        }
        // Nobody can receive results any more.
        (!self.dispatch.stop.is_set()).then_some((packet, available))
    }

    /// The next frame, if it is there and may be in flight now.
    pub(crate) fn try_next(&self) -> Result<Option<Packet>, Closed> {
        if self.dispatch.stop.is_set() {
            return Err(Closed);
        }
        if self.is_first && !self.in_flight.try_acquire() {
            return Ok(None);
        }
        let incoming = match self.incoming.try_recv() {
            Ok(packet) => return Ok(Some(packet)),
            Err(TryRecvError::Empty) => Ok(None),
            Err(TryRecvError::Disconnected) => Err(Closed),
        };
        if self.is_first {
            self.in_flight.release();
        }
        incoming
    }

    /// Hands a frame to the next stage, or out; false if the receiver is gone.
    pub(crate) fn pass_on(&self, mut packet: Packet) -> bool {
        if packet.failure.is_some() {
            packet.values.fill(None);
        }
        packet.queued = now();
        if self.is_last {
            self.in_flight.release();
        }
        self.outgoing.send(packet).is_ok()
    }

    /// Runs the stage on a frame; returns whether the replica can go on, or nothing if the frame is no longer the
    /// caller's.
    ///
    /// The frame's time starts when it was `available` and the worker was free. What the system then takes to wake the
    /// worker is part of what the stage costs; on a core that is shared with other load it is a good part.
    fn work_on(self: &Arc<Self>, led: &mut LedTeam, packet: &mut Packet, available: Instant) -> Option<Health> {
        let start = available;
        self.state.begin(|| Arc::clone(self) as Arc<dyn Supervised>, led, packet);
        let boundary = &self.route.boundary;

        let input = |(&value, &slot): (&ValueId, &FrameSlot)| {
            Some((value, packet.values.get(slot.index()).cloned().flatten()?))
        };
        let inputs: Vec<(ValueId, Tensor)> = boundary.inputs.iter().zip(&self.route.inputs).filter_map(input).collect();
        for &slot in &self.route.release {
            packet.values[slot.index()] = None;
        }

        let ran = led.run(inputs.into_iter(), &boundary.outputs);
        if matches!(self.state.end(led), FrameEnd::Replaced) {
            return None;
        }
        let mut health = Health::Usable;
        match ran {
            Ok(outputs) => {
                for (&slot, tensor) in self.route.outputs.iter().zip(outputs) {
                    packet.values[slot.index()] = Some(tensor);
                }
            }
            Err(Failure { error, health: after }) => {
                packet.failure = Some(error);
                health = after;
            }
        }

        let end = now();
        // Waiting for admission is the caller's doing, not the pipeline's.
        let queued = if self.is_first { start } else { packet.queued };
        self.state.recorder.record(queued, start, end, packet.failure.is_some());
        packet.steps.extend(led.take_steps());
        packet.spans.push(StageSpan { stage: self.id.stage, replica: self.id.replica, start, end });
        Some(health)
    }

    /// Why the frames of a stage without replicas fail.
    pub(crate) fn lost(&self) -> FrameError {
        FrameError::Lost { stage: self.id.stage }
    }
}
