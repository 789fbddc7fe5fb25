//! Frames through one compiled model: inputs, outputs, and the loss of its device.

use std::sync::Arc;

use millstream_backend::{BackendError, PreparedSegment, Tensor, check_inputs, copy_output, marks};
use millstream_graph::Value;

use crate::convert;
use crate::devices::DeviceWatch;
use crate::error::failed;
use crate::native::{NodeTime, Output, Place, Port, Request, Source};
use crate::pinning::Pinning;
use crate::pool::Hold;
use crate::results::Results;

/// A compiled model for one segment.
pub(crate) struct OpenVinoSegment {
    parts: Parts,
    outputs: Vec<Results>,
}

/// What a segment is made of.
pub(crate) struct Parts {
    pub(crate) request: Request,
    /// What the segment takes.
    pub(crate) inputs: Vec<Value>,
    /// For each input of the compiled model, its place among those of the segment: some may turn out not to matter.
    pub(crate) read: Vec<usize>,
    pub(crate) outputs: Vec<Port>,
    /// The device that it runs on, if that may go away.
    pub(crate) device: Option<Arc<DeviceWatch>>,
    pub(crate) pinning: Option<Pinning>,
    /// Has the library's threads take part, for as long as the segment exists.
    pub(crate) _hold: Option<Hold>,
}

impl OpenVinoSegment {
    pub(crate) fn new(mut parts: Parts) -> Self {
        let outputs = parts.outputs.drain(..).map(Results::new).collect();
        Self { parts, outputs }
    }

    /// What the nodes took that ran in the last frame.
    pub(crate) fn node_times(&mut self) -> Result<Vec<NodeTime>, BackendError> {
        self.parts.request.node_times().map_err(failed)
    }

    /// Runs a frame into the outputs whose place is given.
    fn infer(&mut self, inputs: &[Tensor], outputs: &mut [Output<'_>]) -> Result<(), BackendError> {
        let Parts { request, read, device, pinning, .. } = &mut self.parts;
        let sources: Result<Vec<Source<'_>>, String> =
            read.iter().map(|&place| convert::input(&inputs[place])).collect();
        let sources = sources.map_err(BackendError::failed)?;
        let made = request.infer(&sources, outputs).map_err(failed);
        if let Some(pinning) = pinning {
            pinning.check();
        }
        made.map_err(|error| failure(error, || device.as_ref()?.lost()))
    }

    /// Runs a frame into one output, whose place is given, if there is room for it there. Says whether it did.
    fn infer_into(&mut self, inputs: &[Tensor], output: &mut [u8]) -> Result<bool, BackendError> {
        let (&[Place::Given], [results]) = (self.parts.request.places(), self.outputs.as_slice()) else {
            return Ok(false);
        };
        let port = results.port().clone();
        let Some(dimensions) = convert::dimensions_in(&port, output) else { return Ok(false) };
        marks::mark(output);
        self.infer(inputs, &mut [Output::Borrowed { element: port.element, dimensions, bytes: &mut *output }])?;
        Ok(marks::is_written(output))
    }
}

/// Why a frame failed: where the library fails and its device is gone, that is why. `lost` asks whether it is.
fn failure(error: BackendError, lost: impl FnOnce() -> Option<BackendError>) -> BackendError {
    match error {
        BackendError::Failed { .. } => lost().unwrap_or(error),
        other => other,
    }
}

impl PreparedSegment for OpenVinoSegment {
    fn run(&mut self, inputs: &[Tensor]) -> Result<Vec<Tensor>, BackendError> {
        check_inputs(self.parts.inputs.iter(), inputs)?;
        let places = self.parts.request.places().to_vec();
        let given = self.outputs.iter_mut().zip(&places).filter(|(_, place)| **place == Place::Given);
        let taken: Result<Vec<_>, _> = given.map(|(results, _)| results.take()).collect();
        let mut taken = taken?;
        let mut outputs: Vec<Output<'_>> = taken.iter_mut().map(|storage| Output::Owned(&mut storage.0)).collect();
        self.infer(inputs, &mut outputs)?;

        let mut taken = taken.into_iter();
        let mut made = Vec::with_capacity(places.len());
        for (index, (place, results)) in places.into_iter().zip(&mut self.outputs).enumerate() {
            let storage = if place == Place::Given { taken.next() } else { None };
            made.push(match storage {
                Some(storage) => results.give(storage)?,
                None => results.copy(&self.parts.request.own_output(index).map_err(failed)?)?,
            });
        }
        Ok(made)
    }

    fn run_into(&mut self, inputs: &[Tensor], output: &mut [u8]) -> Result<(), BackendError> {
        check_inputs(self.parts.inputs.iter(), inputs)?;
        if self.infer_into(inputs, output)? { Ok(()) } else { copy_output(&self.run(inputs)?, output) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_is_gone_is_why_a_frame_failed() {
        let gone = || Some(BackendError::DeviceLost { backend: "openvino".to_owned(), detail: "GPU".to_owned() });
        let failed = || BackendError::failed("no such thing".to_owned());
        assert!(matches!(failure(failed(), gone), BackendError::DeviceLost { .. }));
        assert!(matches!(failure(failed(), || None), BackendError::Failed { .. }));
        assert!(matches!(failure(BackendError::Cancelled, gone), BackendError::Cancelled), "nobody's fault");
    }
}
