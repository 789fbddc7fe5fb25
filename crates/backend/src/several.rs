use std::sync::Arc;
use std::time::Duration;

use millstream_board::Processor;
use millstream_graph::OperatorId;

use crate::{Backend, BackendError, OperatorTimes, PreparedSegment, Segment, Tensor, TransferTimes};

/// Several backends as one: each segment goes to the first of them that supports all its operators.
pub struct Several(Vec<Arc<dyn Backend>>);

impl Several {
    /// These backends, the first ones preferred.
    pub fn new(backends: Vec<Arc<dyn Backend>>) -> Self {
        Self(backends)
    }

    fn find(&self, operators: &[OperatorId], processor: &Processor) -> Result<&Arc<dyn Backend>, BackendError> {
        let supports = |backend: &&Arc<dyn Backend>| operators.iter().all(|&id| backend.supports(id, processor));
        self.0.iter().find(supports).ok_or_else(|| BackendError::Unavailable {
            backend: self.name().to_owned(),
            detail: format!("no backend runs all operators of the segment on {processor}"),
        })
    }
}

impl Backend for Several {
    fn name(&self) -> &str {
        "several"
    }

    fn supports(&self, operator: OperatorId, processor: &Processor) -> bool {
        self.0.iter().any(|backend| backend.supports(operator, processor))
    }

    fn prepare(&self, segment: &Segment, processor: &Processor) -> Result<Box<dyn PreparedSegment>, BackendError> {
        self.find(&segment.operators, processor)?.prepare(segment, processor)
    }

    fn trace(
        &self,
        segment: &Segment,
        processor: &Processor,
        inputs: &[Tensor],
        go_on: &mut dyn FnMut(Duration) -> bool,
    ) -> Result<Vec<OperatorTimes>, BackendError> {
        self.find(&segment.operators, processor)?.trace(segment, processor, inputs, go_on)
    }

    fn transfer_times(&self, processor: &Processor, bytes: u64) -> Result<Option<TransferTimes>, BackendError> {
        for backend in &self.0 {
            if let Some(times) = backend.transfer_times(processor, bytes)? {
                return Ok(Some(times));
            }
        }
        Ok(None)
    }
}
