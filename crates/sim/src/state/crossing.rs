//! The frames on their way to a stage from another host or from outside, or of results to outside.

use std::collections::VecDeque;

use millstream_cost::Nanoseconds;
use millstream_schedule::Crossing;

use crate::state::ids::FrameId;

/// Frames that may wait at the receiver while as many as the pipeline needs are on the link.
const MOST_AT_RECEIVER: usize = 2;

/// The frames on their way from another host or from outside to a stage, or of results to outside. They leave and
/// arrive in the order in which they came.
pub(crate) struct CrossingState {
    pub(crate) crossing: Crossing,
    /// Frames at the sender that wait for the link.
    waiting: VecDeque<WaitingFrame>,
    /// Frames on the link.
    on_link: VecDeque<FrameId>,
    /// Frames that may be on the link or wait at the receiver: the sender knows how many there are, so that none is
    /// ever dropped.
    pub(crate) most: usize,
    /// When the last frame arrives that was sent: none overtakes it.
    last_arrival: Nanoseconds,
}

/// A frame that waits for the link.
struct WaitingFrame {
    frame: FrameId,
    /// Since when it waits.
    since: Nanoseconds,
}

/// A frame that was sent.
pub(crate) struct SentFrame {
    pub(crate) frame: FrameId,
    /// When it arrives.
    pub(crate) arrival: Nanoseconds,
}

impl CrossingState {
    /// Without frames, and with room for so many that a pipeline with this period is not held up.
    pub(crate) fn new(crossing: Crossing, period: Nanoseconds) -> Self {
        let on_link = crossing.time().0.div_ceil(period.0.max(1));
        let most = usize::try_from(on_link).unwrap_or(usize::MAX).saturating_add(MOST_AT_RECEIVER);
        Self { crossing, waiting: VecDeque::new(), on_link: VecDeque::new(), most, last_arrival: Nanoseconds::ZERO }
    }

    /// A frame waits from now on.
    pub(crate) fn wait(&mut self, frame: FrameId, now: Nanoseconds) {
        self.waiting.push_back(WaitingFrame { frame, since: now });
    }

    /// Since when the next frame waits for the link, if the receiver, at which some frames wait, has room for it.
    pub(crate) fn ready_since(&self, at_receiver: usize) -> Option<Nanoseconds> {
        let has_room = self.on_link.len() + at_receiver < self.most;
        self.waiting.front().filter(|_| has_room).map(|waiting| waiting.since)
    }

    /// Sends the next frame. It arrives at the given time, or with the frame before it if that is later.
    pub(crate) fn send(&mut self, arrival: Nanoseconds) -> Option<SentFrame> {
        let WaitingFrame { frame, .. } = self.waiting.pop_front()?;
        self.on_link.push_back(frame);
        self.last_arrival = self.last_arrival.max(arrival);
        Some(SentFrame { frame, arrival: self.last_arrival })
    }

    /// The frame that was sent first has arrived.
    pub(crate) fn arrived(&mut self) {
        self.on_link.pop_front();
    }

    /// All frames that have left one stage and not come to the other.
    pub(crate) fn frames(&self) -> impl Iterator<Item = FrameId> {
        self.waiting.iter().map(|waiting| waiting.frame).chain(self.on_link.iter().copied())
    }
}
