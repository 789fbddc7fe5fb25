//! Options of a stage: sets of replicas that may run it.

use millstream_cost::Nanoseconds;

use crate::board::cores::Cores;
use crate::board::stage_power::StagePower;
use crate::ways::multisets::MultisetId;

/// Replicas that run a stage, and what they give.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct StageOption {
    pub(crate) period: Nanoseconds,
    pub(crate) latency: Nanoseconds,
    /// What they draw; nothing in a table by time alone.
    pub(crate) power: StagePower,
    pub(crate) replicas: MultisetId,
}

/// An option, and the cores that its replicas take together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SizedOption {
    pub(crate) cores: Cores,
    pub(crate) option: StageOption,
}
