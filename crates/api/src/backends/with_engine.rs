//! An engine that leaves the processors of other engines alone.

use std::sync::Arc;
use std::time::Duration;

use millstream_backend::{
    Backend, BackendError, Observed, OperatorTimes, PreparedSegment, Segment, Tensor, TransferTimes,
};
use millstream_board::{EngineName, Processor};
use millstream_graph::OperatorId;

/// An engine that runs what processors with its name are given: others have another one.
pub(super) struct WithEngine {
    backend: Arc<dyn Observed>,
    engine: EngineName,
}

impl WithEngine {
    pub(super) fn new(backend: Arc<dyn Observed>, engine: EngineName) -> Self {
        Self { backend, engine }
    }

    fn is_own(&self, processor: &Processor) -> bool {
        !processor.is_accelerator() && processor.engine == self.engine
    }
}

impl Backend for WithEngine {
    fn name(&self) -> &str {
        self.backend.name()
    }

    fn supports(&self, operator: OperatorId, processor: &Processor) -> bool {
        self.is_own(processor) && self.backend.supports(operator, processor)
    }

    fn why_refused(&self, operator: OperatorId, processor: &Processor) -> Option<String> {
        self.backend.why_refused(operator, processor).filter(|_| self.is_own(processor))
    }

    fn prepare(&self, segment: &Segment, processor: &Processor) -> Result<Box<dyn PreparedSegment>, BackendError> {
        self.backend.prepare(segment, processor)
    }

    fn begin_schedule(&self) {
        self.backend.begin_schedule();
    }
}

impl Observed for WithEngine {
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
