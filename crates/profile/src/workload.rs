//! What is measured.

use std::ops::Range;

use millstream_backend::{Observed, Tensor};
use millstream_board::Processor;
use millstream_graph::{Graph, OperatorId};
use millstream_partition::Chain;

/// What is measured.
#[derive(Clone, Copy)]
pub struct Workload<'a> {
    /// The network.
    pub graph: &'a Graph,
    /// Its blocks.
    pub chain: &'a Chain,
    /// What runs it, and records what its operators take.
    pub backend: &'a dyn Observed,
    /// A frame, one tensor per input of the network. Times may depend on what is in it.
    pub frame: &'a [Tensor],
}

impl Workload<'_> {
    /// The blocks from the one of the first operator to the one of the last.
    pub(crate) fn blocks_of(&self, operators: &[OperatorId]) -> Range<usize> {
        let blocks = self.chain.blocks();
        let of = |operator: Option<&OperatorId>| {
            let block = operator.and_then(|id| blocks.iter().position(|block| block.operators.contains(id)));
            block.unwrap_or_default()
        };
        of(operators.first())..of(operators.last()) + 1
    }

    /// Whether a processor runs all of these operators.
    pub(crate) fn runs(&self, operators: &[OperatorId], processor: &Processor) -> bool {
        operators.iter().all(|&id| self.backend.supports(id, processor))
    }
}
