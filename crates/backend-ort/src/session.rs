use millstream_backend::{BackendError, PreparedSegment, Tensor};
use millstream_graph::Value;
use ort::session::{Session, SessionInputValue};

use crate::convert;

/// A session for one segment.
///
/// Plain `Run` already passes inputs and outputs by reference on the CPU. An `IoBinding` would reuse the same output buffers
/// for the next frame, while the next stage may still read them.
pub(crate) struct OrtSegment {
    session: Session,
    inputs: Vec<Value>,
}

impl OrtSegment {
    pub(crate) fn new(session: Session, inputs: Vec<Value>) -> Self {
        Self { session, inputs }
    }

    /// Ends a profile that was asked for when the session was made, and returns it.
    pub(crate) fn end_profiling(&mut self) -> Result<String, BackendError> {
        let file = self.session.end_profiling().map_err(|error| BackendError::failed(error.to_string()))?;
        std::fs::read_to_string(&file).map_err(|error| BackendError::failed(format!("{file}: {error}")))
    }

    fn check(&self, inputs: &[Tensor]) -> Result<(), BackendError> {
        if inputs.len() != self.inputs.len() {
            let detail = format!("{} inputs were given, {} are needed", inputs.len(), self.inputs.len());
            return Err(BackendError::Failed { detail });
        }
        for (value, tensor) in self.inputs.iter().zip(inputs) {
            tensor.check_fits(value).map_err(|expected| BackendError::Input {
                value: value.name.clone(),
                expected,
                found: tensor.description(),
            })?;
        }
        Ok(())
    }
}

impl PreparedSegment for OrtSegment {
    fn run(&mut self, inputs: &[Tensor]) -> Result<Vec<Tensor>, BackendError> {
        self.check(inputs)?;
        let inputs: Result<Vec<SessionInputValue<'_>>, String> = inputs.iter().map(convert::input).collect();
        let inputs = inputs.map_err(|detail| BackendError::Failed { detail })?;
        let outputs = self.session.run(inputs.as_slice()).map_err(|error| BackendError::failed(error.to_string()))?;
        outputs
            .into_iter()
            .map(|(_, value)| convert::tensor(value).map_err(|detail| BackendError::Failed { detail }))
            .collect()
    }
}
