//! What is measured.

use millstream_backend::{Observed, Segment, Tensor};
use millstream_board::Processor;
use millstream_graph::Graph;
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
    /// Whether a processor runs all operators of a segment.
    pub(crate) fn runs(&self, segment: &Segment, processor: &Processor) -> bool {
        segment.operators.iter().all(|&id| self.backend.supports(id, processor))
    }
}
