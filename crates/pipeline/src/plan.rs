use std::ops::Range;

use millstream_board::ProcessorClass;
use millstream_cost::Nanoseconds;

/// A pipeline in terms of blocks and processor classes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The stages, in order.
    pub stages: Vec<PlannedStage>,
    /// Time between two frames.
    pub period: Nanoseconds,
    /// Time of one frame through the pipeline.
    pub latency: Nanoseconds,
}

/// One stage of a [`Plan`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedStage {
    /// Its blocks.
    pub blocks: Range<usize>,
    /// Its replicas, fastest cluster first.
    pub replicas: Vec<ProcessorClass>,
}
