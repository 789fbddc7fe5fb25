//! The process that gives frames to replicas: from their sources to the first stages, and from stage to stage.

use millstream_cost::Nanoseconds;
use millstream_schedule::StageId;

use crate::processes::host_sender::HostSender;
use crate::processes::operator_runner::OperatorRunner;
use crate::state::board::BoardState;
use crate::state::events::{CrossedFrame, Event, EventQueue, ReplicaStep};
use crate::state::ids::{FrameId, ReplicaIndex, StreamId};
use crate::state::link_occupancy::LinkOccupancy;
use crate::state::noise::Noise;
use crate::state::replica::ServedFrame;
use crate::state::streams::{Flow, Streams};

/// Rounds that a stream may be ahead of the others that take turns with it, as in a run.
const MOST_AHEAD: f64 = 1.0;
/// A stream that goes on for others' sake starts at most so many times the frames of the longest stream.
const MOST_TIMES: usize = 100;

/// What the process changes.
pub(crate) struct Dispatcher<'s, 'a> {
    pub(crate) queue: &'s mut EventQueue,
    pub(crate) board: &'s mut BoardState,
    pub(crate) links: &'s mut LinkOccupancy,
    pub(crate) streams: &'s mut Streams<'a>,
    pub(crate) noise: &'s mut Noise,
    /// Whether every stream goes on until all are through.
    pub(crate) keeps_all_busy: bool,
    /// Whether replicas of a first stage begin one after the other.
    pub(crate) staggers_replicas: bool,
}

impl Dispatcher<'_, '_> {
    /// The process that runs operators.
    pub(crate) fn operators(&mut self) -> OperatorRunner<'_> {
        OperatorRunner { queue: self.queue, board: self.board, noise: self.noise }
    }

    /// Lets the replicas of a stream's first stage begin from now on, each a period of the stage after the one before,
    /// if they may compete for memory and frames are always there.
    ///
    /// Replicas that begin together would want the memory at the same moments for ever, if no noise is simulated. On a
    /// machine they drift apart within a few frames.
    pub(crate) fn stagger(&mut self, stream: StreamId) {
        let flow = &self.streams.flows[stream];
        let Some(&first_stage) = flow.stages.iter().next() else { return };
        if !self.staggers_replicas || flow.network.interval.is_some() {
            return;
        }
        let mut begins_at = self.queue.now();
        for replica_index in first_stage.iter().skip(1) {
            begins_at += flow.first_stage_period;
            self.board.replicas[replica_index].begins_at = begins_at;
            self.queue.at(begins_at, Event::MayBegin { stream });
        }
    }

    /// Gives a stream's frames to the replicas that are free, and those of streams that waited for their turn after it.
    pub(crate) fn dispatch(&mut self, stream: StreamId) {
        // Nobody waits for a stream that is through, or for one that has started another frame.
        let mut pending = if self.streams.flows[stream].left == 0 { self.turn_takers_but(stream) } else { Vec::new() };
        pending.push(stream);
        while let Some(stream) = pending.pop() {
            let started = self.streams.flows[stream].frames.len();
            self.dispatch_to_stages(stream);
            if self.streams.flows[stream].frames.len() > started {
                pending.extend(self.turn_takers_but(stream));
            }
        }
    }

    /// Gives every stream's frames to the replicas that are free.
    pub(crate) fn dispatch_all(&mut self) {
        self.streams.flows.numbers().iter().for_each(|stream| self.dispatch(stream));
    }

    /// The next frame of a stream has arrived, and the one after it will.
    pub(crate) fn frame_arrived(&mut self, stream: StreamId) {
        let network = self.streams.flows[stream].network;
        if let Some(interval) = network.interval {
            let interval = interval.max(Nanoseconds(1));
            if self.queue.now().0 / interval.0 + 1 < network.frames as u64 || self.may_start_extra(stream) {
                self.queue.after(interval, Event::FrameArrived { stream });
            }
        }
        self.dispatch(stream);
    }

    /// A frame has come over a link, unless its stream has begun anew meanwhile.
    pub(crate) fn frame_crossed(&mut self, crossed: CrossedFrame) {
        let CrossedFrame { stream, stage, frame, generation } = crossed;
        let flow = &mut self.streams.flows[stream];
        if flow.generation != generation {
            return;
        }
        if let Some(crossing) = &mut flow.crossings[stage] {
            crossing.arrived();
            if !flow.take_in(stage, frame) {
                self.streams.end(stream, frame, self.queue.now());
            }
        }
        self.dispatch(stream);
    }

    /// If a replica has ended all tasks of its frame, passes that on, and gives the replica another one.
    pub(crate) fn finish_if_done(&mut self, replica_index: ReplicaIndex) {
        let (now, replica) = (self.queue.now(), &mut self.board.replicas[replica_index]);
        let Some(ServedFrame { frame, time }) = replica.finish(now) else { return };
        let (stream, stage) = (replica.stream, replica.stage);
        let flow = &mut self.streams.flows[stream];
        flow.frames[frame].in_stages += time;
        if !flow.pass_on(stage, frame, now) {
            self.streams.end(stream, frame, now);
        }
        self.dispatch(stream);
    }

    /// Whether a stream may start more frames than its own, to keep its processors busy: only for the sake of a stream
    /// that is not through and still can be. One that gets nowhere beside it is given up.
    fn may_start_extra(&self, stream: StreamId) -> bool {
        let flows = &self.streams.flows;
        let most = flows.iter().map(|flow| flow.network.frames).max().unwrap_or(0).saturating_mul(MOST_TIMES);
        self.keeps_all_busy
            && flows[stream].frames.len() < most
            && flows.iter().any(|flow| flow.left > 0 && self.can_go_on(flow))
    }

    /// Whether every stage still has a replica.
    fn can_go_on(&self, flow: &Flow<'_>) -> bool {
        flow.stages.iter().all(|&stage| self.board.has_replica(stage))
    }

    /// Whether a stream waits for others that take turns with it.
    fn is_ahead(&self, stream: StreamId) -> bool {
        let flows = &self.streams.flows;
        let takes_turns = |flow: &&Flow<'_>| flow.network.takes_turns && flow.left > 0 && self.can_go_on(flow);
        let least = flows.iter().filter(takes_turns).map(Flow::rounds).fold(f64::INFINITY, f64::min);
        flows[stream].network.takes_turns && flows[stream].rounds() > least + MOST_AHEAD
    }

    /// The other streams that take turns with a stream, if it does.
    fn turn_takers_but(&self, stream: StreamId) -> Vec<StreamId> {
        let flows = &self.streams.flows;
        if !flows[stream].network.takes_turns {
            return Vec::new();
        }
        let others = flows.numbers().iter().filter(|&other| other != stream);
        others.filter(|&other| flows[other].network.takes_turns).collect()
    }

    /// Gives frames to replicas that are free, the last stage first, until none can take another one.
    fn dispatch_to_stages(&mut self, stream: StreamId) {
        let stages = self.streams.flows[stream].crossings.numbers();
        loop {
            let mut has_moved = false;
            for stage in stages.iter().rev() {
                has_moved |= self.dispatch_to_stage(stream, stage);
                has_moved |= self.send(stream, stage);
            }
            has_moved |= self.bring_in(stream);
            if !has_moved {
                return;
            }
        }
    }

    /// Gives a frame to each replica of a stage that is free. Whether one took a frame.
    fn dispatch_to_stage(&mut self, stream: StreamId, stage: StageId) -> bool {
        let Some(&replicas) = self.streams.flows[stream].stages.get(stage) else { return false };
        let mut has_moved = false;
        for replica_index in replicas.iter() {
            let replica = &self.board.replicas[replica_index];
            if replica.frame.is_some() || replica.is_lost || replica.begins_at > self.queue.now() {
                continue;
            }
            if let Some(frame) = self.next_frame(stream, stage) {
                self.begin(replica_index, frame);
                has_moved = true;
            }
        }
        has_moved
    }

    /// Takes the next frame for a stage out of its queue, or starts one for the first stage.
    fn next_frame(&mut self, stream: StreamId, stage: StageId) -> Option<FrameId> {
        let flow = &mut self.streams.flows[stream];
        if stage > StageId::FIRST || flow.is_entered_over_a_link() {
            return flow.queues[stage].pop_front();
        }
        self.start_next(stream)
    }

    /// Lets frames wait for the link from outside, if they take time on it. Whether one does from now on.
    fn bring_in(&mut self, stream: StreamId) -> bool {
        let mut has_moved = false;
        while self.streams.flows[stream].is_entered_over_a_link()
            && let Some(frame) = self.start_next(stream)
        {
            let now = self.queue.now();
            let crossing = self.streams.flows[stream].crossings[StageId::FIRST].as_mut();
            crossing.into_iter().for_each(|crossing| crossing.wait(frame, now));
            has_moved = true;
        }
        has_moved
    }

    /// Starts the next frame of a stream, if one may be started.
    fn start_next(&mut self, stream: StreamId) -> Option<FrameId> {
        if self.is_ahead(stream) {
            return None;
        }
        let may_start_extra = self.may_start_extra(stream);
        self.streams.flows[stream].start_next(self.queue.now(), may_start_extra)
    }

    /// Sends a frame to a stage on another host, if one can be sent now. Whether it does.
    fn send(&mut self, stream: StreamId, stage: StageId) -> bool {
        let lost = &self.board.lost;
        let mut sender =
            HostSender { queue: self.queue, links: self.links, streams: self.streams, noise: self.noise, lost };
        sender.send(stream, stage)
    }

    /// Lets a replica take a frame over, once the links to its clusters are free.
    fn begin(&mut self, replica_index: ReplicaIndex, frame: FrameId) {
        let now = self.queue.now();
        let replica = &mut self.board.replicas[replica_index];
        replica.begin(frame, now);
        let (processor_indices, hand_over) = (replica.processor_indices, replica.plan.hand_over);
        let wait = self.links.occupy_together(&replica.plan.links, now);
        processor_indices.iter().for_each(|index| self.board.record_work(index, hand_over));
        self.queue.after(wait + hand_over, self.board.event(replica_index, ReplicaStep::TakenOver));
    }
}
