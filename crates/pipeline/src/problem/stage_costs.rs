//! What the stages of a network take on all processors of a board.

use std::sync::Arc;

use millstream_partition::Chain;

use crate::board::processors::Processors;
use crate::inputs::ProblemInputs;
use crate::problem::link_evaluator::LinkEvaluator;
use crate::problem::shared_capacity::SharedCapacity;
use crate::times::crossing_times::CrossingTimes;
use crate::times::stage_times::StageTimes;

/// A network's chain of blocks, and what stages of it take, occupy and hold.
#[derive(Debug, Clone)]
pub(crate) struct StageCosts {
    pub(crate) chain: Chain,
    /// Times of stages on a single processor.
    pub(crate) times: StageTimes,
    /// What stages pay on top for frames from and to other hosts; nothing on a single board.
    pub(crate) crossing: Option<Arc<CrossingTimes>>,
    /// Where links are occupied: tells what several stages take over the same one.
    pub(crate) link_evaluator: Option<Arc<LinkEvaluator>>,
    /// What the memory that all share has room for, where that is known.
    pub(crate) capacity: Option<SharedCapacity>,
}

impl StageCosts {
    /// Those of a network on the processors of a single board.
    pub(crate) fn new(inputs: ProblemInputs<'_>, processors: &Processors) -> Self {
        let ProblemInputs { graph, chain, board, table } = inputs;
        let times = StageTimes::new(inputs, processors);
        let link_evaluator = times.have_links().then(|| LinkEvaluator::new(graph, table));
        let capacity = SharedCapacity::of(graph, chain, board);
        Self { chain: chain.clone(), times, crossing: None, link_evaluator, capacity }
    }
}
