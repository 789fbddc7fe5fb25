//! A frame on its way through the stages, and what became of it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use millstream_backend::Tensor;
use millstream_graph::{OperatorId, Portion};
use millstream_schedule::StageId;

use crate::error::FrameError;
use crate::route::Route;
use crate::sync::now;

/// A frame on its way through the stages.
pub(crate) struct Packet {
    pub(crate) sequence: u64,
    /// Values that some later stage reads or that are results, by [`FrameSlot`](crate::route::FrameSlot).
    pub(crate) values: Vec<Option<Tensor>>,
    /// Once a frame has failed, the stages only pass it on.
    pub(crate) failure: Option<FrameError>,
    pub(crate) submitted: Instant,
    /// When it was put into the queue that it is in.
    pub(crate) queued: Instant,
    pub(crate) spans: Vec<StageSpan>,
    pub(crate) steps: Vec<StepSpan>,
    /// What the slots of `values` stand for.
    pub(crate) route: Arc<Route>,
    /// The frame itself, if it may have to start again.
    pub(crate) frame: Option<Vec<Tensor>>,
}

impl Packet {
    /// A frame that fits the network and is about to enter the first of so many stages.
    pub(crate) fn new(route: &Arc<Route>, frame: Vec<Tensor>, stages: usize, keeps_frame: bool) -> Self {
        let now = now();
        let mut packet = Self {
            sequence: 0,
            values: Vec::new(),
            failure: None,
            submitted: now,
            queued: now,
            spans: Vec::with_capacity(stages),
            steps: Vec::new(),
            route: Arc::clone(route),
            frame: keeps_frame.then(|| frame.clone()),
        };
        packet.enter(route, frame);
        packet
    }

    /// A packet that can be answered in place of this one, without what it carries.
    pub(crate) fn stand_in(&self) -> Self {
        Self {
            sequence: self.sequence,
            values: Vec::new(),
            failure: None,
            submitted: self.submitted,
            queued: self.queued,
            spans: self.spans.clone(),
            steps: Vec::new(),
            route: Arc::clone(&self.route),
            frame: None,
        }
    }

    pub(crate) fn can_start_again(&self) -> bool {
        self.frame.is_some()
    }

    /// Puts the frame in front of the first stage of another schedule.
    pub(crate) fn start_again(&mut self, route: &Arc<Route>) {
        let frame = self.frame.take().unwrap_or_default();
        self.frame = Some(frame.clone());
        self.enter(route, frame);
        self.spans.clear();
        self.steps.clear();
        self.queued = now();
    }

    /// Puts the frame where the first stage looks for it.
    fn enter(&mut self, route: &Arc<Route>, frame: Vec<Tensor>) {
        self.values = vec![None; route.slots];
        for (&slot, tensor) in route.inputs.iter().zip(frame) {
            self.values[slot.index()] = Some(tensor);
        }
        self.route = Arc::clone(route);
    }
}

/// When a stage worked on a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StageSpan {
    /// The stage.
    pub stage: StageId,
    /// Replica of the stage, counted from 0.
    pub replica: usize,
    /// Start of the work.
    pub start: Instant,
    /// End of the work.
    pub end: Instant,
}

/// What became of a frame.
#[derive(Debug, Clone)]
pub struct FrameResult {
    /// Position of the frame among all that were submitted, from 0.
    pub sequence: u64,
    /// The network's outputs, in order.
    pub outcome: Result<Vec<Tensor>, FrameError>,
    /// When the frame was submitted.
    pub submitted: Instant,
    /// When its turn to be received had come.
    pub received: Instant,
    /// When each stage worked on it.
    pub spans: Vec<StageSpan>,
    /// When each processor ran which operators, if that was asked for; stage by stage, by their starts.
    pub steps: Vec<StepSpan>,
}

/// When a processor ran a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepSpan {
    /// The stage.
    pub stage: StageId,
    /// Replica of the stage, counted from 0.
    pub replica: usize,
    /// Position of the processor in the replica.
    pub processor: usize,
    /// The segment's first operator.
    pub first: OperatorId,
    /// How many operators the segment has.
    pub operators: usize,
    /// Channels or rows that it made, if it was a part.
    pub portion: Option<Portion>,
    /// Start of the work.
    pub start: Instant,
    /// End of the work.
    pub end: Instant,
}

impl FrameResult {
    /// Time from submission to receipt, all waiting included.
    pub fn time_in_engine(&self) -> Duration {
        self.received.duration_since(self.submitted)
    }

    /// Time from the start of the first stage to receipt: what remains of [`Self::time_in_engine`] when frames do not
    /// wait for admission. Waiting between stages and for earlier frames is included.
    pub fn latency(&self) -> Duration {
        self.received.duration_since(self.spans.first().map_or(self.submitted, |span| span.start))
    }
}
