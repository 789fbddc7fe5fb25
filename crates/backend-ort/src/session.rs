use millstream_backend::{BackendError, PreparedSegment, Tensor, copy_output};
use millstream_graph::Value;
use ort::session::{OutputSelector, RunOptions, Session, SessionInputValue};
use ort::value::ValueType;

use crate::convert;
use crate::destination::with_destination;

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

/// Tensors as a session takes them.
fn values(inputs: &[Tensor]) -> Result<Vec<SessionInputValue<'_>>, BackendError> {
    let values: Result<_, String> = inputs.iter().map(convert::input).collect();
    values.map_err(|detail| BackendError::Failed { detail })
}

impl PreparedSegment for OrtSegment {
    fn run(&mut self, inputs: &[Tensor]) -> Result<Vec<Tensor>, BackendError> {
        self.check(inputs)?;
        let inputs = values(inputs)?;
        let outputs = self.session.run(inputs.as_slice()).map_err(|error| BackendError::failed(error.to_string()))?;
        outputs
            .into_iter()
            .map(|(_, value)| convert::tensor(value).map_err(|detail| BackendError::Failed { detail }))
            .collect()
    }

    fn run_into(&mut self, inputs: &[Tensor], output: &mut [u8]) -> Result<(), BackendError> {
        self.check(inputs)?;
        let failed = |error: ort::Error| BackendError::failed(error.to_string());
        let values = values(inputs)?;
        let only = match self.session.outputs() {
            [only] => only,
            several => {
                return Err(BackendError::failed(format!("the segment makes {} values, not one", several.len())));
            }
        };
        let name = only.name().to_owned();
        let ValueType::Tensor { ty, shape, .. } = only.dtype() else {
            return Err(BackendError::failed("the output is not a tensor"));
        };
        let (data_type, shape) = (convert::data_type(*ty), shape.to_vec());
        let is_fixed = shape.iter().all(|&size| size >= 0);
        let session = &mut self.session;
        let run = |destination| {
            let options = RunOptions::new().map_err(failed)?;
            let options = options.with_outputs(OutputSelector::default().preallocate(&name, destination));
            session.run_with_options(values.as_slice(), &options).map(drop).map_err(failed)
        };
        let written =
            data_type.filter(|_| is_fixed).and_then(|data_type| with_destination(output, data_type, &shape, run));
        written.unwrap_or_else(|| copy_output(&self.run(inputs)?, output))
    }
}
