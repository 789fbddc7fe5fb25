//! A way to run a stage, and its time.

use millstream_cost::Nanoseconds;

use crate::board::cores::Cores;
use crate::ways::way::WayId;

/// A way to run a range of blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TimedWay {
    pub(crate) id: WayId,
    pub(crate) cores: Cores,
    pub(crate) time: Nanoseconds,
}
