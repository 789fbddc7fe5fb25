use std::sync::Arc;
use std::time::Duration;

use millstream_backend::{
    Backend, BackendError, Observed, OperatorTimes, PreparedSegment, Segment, Tensor, TransferTimes,
};
use millstream_board::Processor;
use millstream_graph::OperatorId;

/// An engine that runs on the cores of some clusters: others have another one.
pub(super) struct OnClusters {
    backend: Arc<dyn Observed>,
    clusters: Vec<String>,
}

impl OnClusters {
    pub(super) fn new(backend: Arc<dyn Observed>, clusters: Vec<String>) -> Self {
        Self { backend, clusters }
    }
}

impl Backend for OnClusters {
    fn name(&self) -> &str {
        self.backend.name()
    }

    fn supports(&self, operator: OperatorId, processor: &Processor) -> bool {
        self.clusters.contains(&processor.cluster) && self.backend.supports(operator, processor)
    }

    fn prepare(&self, segment: &Segment, processor: &Processor) -> Result<Box<dyn PreparedSegment>, BackendError> {
        self.backend.prepare(segment, processor)
    }

    fn begin_schedule(&self) {
        self.backend.begin_schedule();
    }
}

impl Observed for OnClusters {
    fn trace(
        &self,
        segment: &Segment,
        processor: &Processor,
        inputs: &[Tensor],
        go_on: &mut dyn FnMut(Duration) -> bool,
    ) -> Result<Vec<OperatorTimes>, BackendError> {
        self.backend.trace(segment, processor, inputs, go_on)
    }

    fn transfer_times(&self, processor: &Processor, bytes: u64) -> Result<Option<TransferTimes>, BackendError> {
        self.backend.transfer_times(processor, bytes)
    }
}
