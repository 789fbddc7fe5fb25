//! Options of a stage.

use millstream_cost::Nanoseconds;

use crate::multisets::MultisetId;
use crate::stage_power::StagePower;

/// Replicas that run a stage, and what they give.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct StageOption {
    pub(crate) period: Nanoseconds,
    pub(crate) latency: Nanoseconds,
    /// What they draw; nothing in a table by time alone.
    pub(crate) power: StagePower,
    pub(crate) replicas: MultisetId,
}
