//! The streams of frames: where each frame is, and when it started and ended.

use std::collections::VecDeque;

use millstream_cost::Nanoseconds;
use millstream_schedule::StageId;

use crate::input::simulated_network::SimulatedNetwork;
use crate::outcome::OperatorSpan;
use crate::state::board::StageReplicas;
use crate::state::crossing::CrossingState;
use crate::state::ids::{FrameId, ReplicaIndex, StreamId};
use crate::state::numbered::{Number, Numbered};

/// All streams.
pub(crate) struct Streams<'a> {
    pub(crate) flows: Numbered<StreamId, Flow<'a>>,
    /// When the last stream was through with its frames.
    through_at: Option<Nanoseconds>,
}

impl<'a> Streams<'a> {
    pub(crate) fn new(networks: &'a [SimulatedNetwork<'a>]) -> Self {
        Self { flows: networks.iter().map(Flow::new).collect(), through_at: None }
    }

    /// Whether a replica is of a schedule that some stream has now.
    pub(crate) fn uses(&self, replica_index: ReplicaIndex) -> bool {
        self.flows.iter().flat_map(|flow| flow.stages.iter()).any(|stage| stage.contains(replica_index))
    }

    /// Whether some stream has frames left.
    pub(crate) fn has_frames_left(&self) -> bool {
        self.flows.iter().any(|flow| flow.left > 0)
    }

    /// A stream's frame has left the last stage, or its results are outside.
    pub(crate) fn end(&mut self, stream: StreamId, frame: FrameId, now: Nanoseconds) {
        self.flows[stream].end(frame, now);
        if self.through_at.is_none() && !self.has_frames_left() {
            self.through_at = Some(now);
        }
    }

    /// Whether a time is no later than the end of the last frame of all streams.
    pub(crate) fn is_within(&self, time: Nanoseconds) -> bool {
        self.through_at.is_none_or(|through_at| time <= through_at)
    }
}

/// A stream's frames, and the stages that they flow through.
///
/// Every frame that has started and not ended is in one place: in a replica, in a queue, on its way to a stage or to
/// outside, or among the returned ones.
pub(crate) struct Flow<'a> {
    pub(crate) network: &'a SimulatedNetwork<'a>,
    pub(crate) stages: StageReplicas,
    /// The stages of the schedule that it started with.
    pub(crate) first_stages: StageReplicas,
    /// Time between two frames of the first stage if nobody competes with it.
    pub(crate) first_stage_period: Nanoseconds,
    /// Frames that wait for each stage, and a place for results, where none wait.
    pub(crate) queues: Numbered<StageId, VecDeque<FrameId>>,
    /// The frames on their way to each stage, if the one before is on another host, or to the first from outside; and
    /// in the end the results on their way to outside.
    pub(crate) crossings: Numbered<StageId, Option<CrossingState>>,
    /// How often its schedule has been replaced.
    pub(crate) generation: u32,
    /// Frames between their start, or the first stage's, and the end of the last one, or of their results' way out.
    pub(crate) in_flight: usize,
    /// How many of these there may be.
    pub(crate) most_in_flight: usize,
    /// Frames that have to start again.
    pub(crate) returned: VecDeque<FrameId>,
    /// All frames that have started, in the order of their starts.
    pub(crate) frames: Numbered<FrameId, FrameState>,
    /// Frames of the stream that have not ended.
    pub(crate) left: usize,
    pub(crate) fell_back: Option<Nanoseconds>,
    pub(crate) spans: Vec<OperatorSpan>,
}

/// A frame that has started.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FrameState {
    /// When it started or arrived.
    pub(crate) start: Nanoseconds,
    /// When it left the last stage, or its results were outside.
    pub(crate) end: Option<Nanoseconds>,
    /// How long stages have worked on it.
    pub(crate) in_stages: Nanoseconds,
}

impl<'a> Flow<'a> {
    fn new(network: &'a SimulatedNetwork<'a>) -> Self {
        Self {
            network,
            stages: Numbered::default(),
            first_stages: Numbered::default(),
            first_stage_period: Nanoseconds::ZERO,
            queues: Numbered::default(),
            crossings: Numbered::default(),
            generation: 0,
            in_flight: 0,
            most_in_flight: 0,
            returned: VecDeque::new(),
            frames: Numbered::with_capacity(network.frames),
            left: network.frames,
            fell_back: None,
            spans: Vec::new(),
        }
    }

    /// Sends frames through the stages of a schedule from now on. Nothing is in its queues or on its way.
    pub(crate) fn set_stages(
        &mut self,
        stages: StageReplicas,
        crossings: Numbered<StageId, Option<CrossingState>>,
        frames_in_flight: usize,
    ) {
        let between_hosts = crossings.iter().flatten().map(|crossing| crossing.most);
        let usual = between_hosts.fold(frames_in_flight, usize::saturating_add);
        self.most_in_flight = self.network.frames_in_flight.unwrap_or(usual);
        self.queues = crossings.iter().map(|_| VecDeque::new()).collect();
        self.crossings = crossings;
        if self.generation == 0 {
            self.first_stages.clone_from(&stages);
        }
        self.stages = stages;
    }

    /// Rounds of frames that have started.
    pub(crate) fn rounds(&self) -> f64 {
        self.frames.len() as f64 / self.network.weight
    }

    /// Starts the next frame if there is one and another one may be in flight. Extra frames are those beyond the
    /// stream's own.
    pub(crate) fn start_next(&mut self, now: Nanoseconds, may_start_extra: bool) -> Option<FrameId> {
        if self.in_flight >= self.most_in_flight {
            return None;
        }
        if let Some(frame) = self.returned.pop_front() {
            self.in_flight += 1;
            return Some(frame);
        }

        let frame = self.frames.next_number();
        let start = match self.network.interval {
            Some(interval) => Nanoseconds(interval.0.saturating_mul(frame.index() as u64)),
            None => now,
        };
        if self.is_extra(frame) && !may_start_extra || start > now {
            return None;
        }
        self.in_flight += 1;
        self.frames.push(FrameState { start, end: None, in_stages: Nanoseconds::ZERO });
        Some(frame)
    }

    /// Whether frames take time on their way from outside.
    pub(crate) fn is_entered_over_a_link(&self) -> bool {
        self.crossings.iter().next().is_some_and(Option::is_some)
    }

    /// Brings a frame that has come over a link to the queue of a stage. False if that is past the last: its results
    /// are outside.
    pub(crate) fn take_in(&mut self, stage: StageId, frame: FrameId) -> bool {
        let is_stage = stage.index() < self.stages.len();
        if is_stage {
            self.queues[stage].push_back(frame);
        }
        is_stage
    }

    /// Brings a frame that a stage has ended to the queue of the next one, or to the link there. False if it was the
    /// last stage, and results take no time on their way.
    pub(crate) fn pass_on(&mut self, stage: StageId, frame: FrameId, now: Nanoseconds) -> bool {
        let next = stage.next();
        match self.crossings.get_mut(next) {
            Some(Some(crossing)) => {
                crossing.wait(frame, now);
                true
            }
            _ => self.take_in(next, frame),
        }
    }

    /// Puts a frame that a replica has lost before all others that wait for its stage.
    pub(crate) fn give_back(&mut self, stage: StageId, frame: FrameId) {
        // What has come over a link is on the host.
        if stage > StageId::FIRST || self.is_entered_over_a_link() {
            self.queues[stage].push_front(frame);
            return;
        }
        self.in_flight -= 1;
        self.returned.push_front(frame);
    }

    /// Whether a frame is beyond the stream's own.
    pub(crate) fn is_extra(&self, frame: FrameId) -> bool {
        frame.index() >= self.network.frames
    }

    fn end(&mut self, frame: FrameId, now: Nanoseconds) {
        self.frames[frame].end = Some(now);
        self.in_flight -= 1;
        if !self.is_extra(frame) {
            self.left -= 1;
        }
    }
}
