//! Frames between hosts.

use std::collections::VecDeque;

use millstream_cost::Nanoseconds;
use millstream_schedule::Crossing;

/// Frames that may wait at the receiver while as many as the pipeline needs are on a way.
const WAITING: usize = 2;

/// The way from another host to a stage.
pub(crate) struct Way {
    pub(crate) crossing: Crossing,
    /// Frames at the sender that wait for the link, and since when.
    pub(crate) waiting: VecDeque<(u64, usize)>,
    /// Frames on the link.
    pub(crate) under_way: VecDeque<usize>,
    /// Frames that may be on the link or wait at the receiver: whoever sends knows how many there are, so that none is ever dropped.
    pub(crate) most: usize,
    /// When the last frame arrives that was sent: none overtakes it.
    pub(crate) last: u64,
}

impl Way {
    /// A way that does not hold up a pipeline with this period.
    pub(crate) fn new(crossing: Crossing, period: Nanoseconds) -> Self {
        let on_the_way = crossing.time().0.div_ceil(period.0.max(1));
        let most = usize::try_from(on_the_way).unwrap_or(usize::MAX).saturating_add(WAITING);
        Self { crossing, waiting: VecDeque::new(), under_way: VecDeque::new(), most, last: 0 }
    }

    /// A frame waits from now on.
    pub(crate) fn wait(&mut self, frame: usize, now: u64) {
        self.waiting.push_back((now, frame));
    }

    /// All frames that have left one stage and not come to the other.
    pub(crate) fn frames(&self) -> impl Iterator<Item = usize> {
        self.waiting.iter().map(|(_, frame)| *frame).chain(self.under_way.iter().copied())
    }
}
