//! Frames through the session of one segment, their cancellation, and the session's profile.

use std::sync::Arc;

use millstream_backend::{BackendError, Canceller, PreparedSegment, Tensor, check_inputs, copy_output};
use millstream_graph::Value;
use ort::session::{RunOptions, SessionInputValue};

use crate::cancellation::Cancellation;
use crate::weights::WeightedSession;
use crate::{convert, destination};

/// A session for one segment.
///
/// Plain `Run` already passes inputs and outputs by reference on the CPU. An `IoBinding` would reuse the same output
/// buffers for the next frame, while the next stage may still read them; and the library's copies inputs that it only
/// borrows.
pub(crate) struct OrtSegment {
    session: WeightedSession,
    inputs: Vec<Value>,
    cancellation: Arc<Cancellation>,
    /// What the device that computes is called, if one does.
    device: Option<String>,
}

impl OrtSegment {
    pub(crate) fn new(session: WeightedSession, inputs: Vec<Value>, device: Option<String>) -> Self {
        Self { session, inputs, cancellation: Arc::default(), device }
    }

    /// Ends a profile that was asked for when the session was made, and returns it.
    pub(crate) fn end_profiling(&mut self) -> Result<String, BackendError> {
        let file = self.session.get().end_profiling().map_err(|error| BackendError::failed(error.to_string()))?;
        std::fs::read_to_string(&file).map_err(|error| BackendError::failed(format!("{file}: {error}")))
    }
}

/// Tensors as a session takes them.
fn values(inputs: &[Tensor]) -> Result<Vec<SessionInputValue<'_>>, BackendError> {
    let values: Result<_, String> = inputs.iter().map(convert::input).collect();
    values.map_err(|detail| BackendError::Failed { detail })
}

impl PreparedSegment for OrtSegment {
    fn run(&mut self, inputs: &[Tensor]) -> Result<Vec<Tensor>, BackendError> {
        check_inputs(self.inputs.iter(), inputs)?;
        let inputs = values(inputs)?;
        let options = RunOptions::new().map_err(|error| BackendError::failed(error.to_string()))?;
        let session = self.session.get();
        let run = |options: &RunOptions| {
            let outputs = session.run_with_options(inputs.as_slice(), options)?;
            Ok(outputs.into_iter().map(|(_, value)| value).collect::<Vec<_>>())
        };
        let outputs = self.cancellation.during(options, self.device.as_deref(), run)?;
        outputs.into_iter().map(|value| convert::tensor(value).map_err(BackendError::failed)).collect()
    }

    fn run_into(&mut self, inputs: &[Tensor], output: &mut [u8]) -> Result<(), BackendError> {
        check_inputs(self.inputs.iter(), inputs)?;
        let device = self.device.as_deref();
        if destination::run_into(self.session.get(), &values(inputs)?, output, &self.cancellation, device)? {
            return Ok(());
        }
        copy_output(&self.run(inputs)?, output)
    }

    fn canceller(&self) -> Option<Arc<dyn Canceller>> {
        Some(Arc::clone(&self.cancellation) as _)
    }
}
