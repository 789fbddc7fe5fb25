//! Sequential inference of a network, with inputs and outputs in the order in which the network declares them.

use std::sync::Arc;

use millstream_board::Processor;
use millstream_graph::{Graph, ValueId};

use crate::backend::{Backend, Canceller, PreparedSegment};
use crate::error::BackendError;
use crate::segment::Segment;
use crate::tensor::Tensor;

/// The whole network, ready to run on one processor as a single segment: plain sequential inference.
///
/// A segment takes and gives values in an order of its own, and only those that it reads and makes. This takes a frame
/// as the network declares its inputs, and returns results as the network declares its outputs.
pub struct WholeNetwork {
    prepared: Box<dyn PreparedSegment>,
    /// How many inputs the network declares.
    declared: usize,
    /// For each input of the segment, its place in the frame.
    inputs: Vec<usize>,
    outputs: Vec<Source>,
}

/// Where a result of the network comes from.
enum Source {
    /// This output of the segment.
    Made(usize),
    /// This input of the network, handed on as it is.
    Given(usize),
}

impl WholeNetwork {
    /// Prepares the network.
    ///
    /// # Errors
    /// As [`Backend::prepare`].
    pub fn prepare(graph: &Graph, backend: &dyn Backend, processor: &Processor) -> Result<Self, BackendError> {
        let segment = Segment::whole(graph);
        let prepared = backend.prepare(&segment, processor)?;
        let input_place = |value: &ValueId| graph.inputs().iter().position(|input| input == value);
        let source = |value: &ValueId| {
            let made = segment.boundary.outputs.iter().position(|output| output == value).map(Source::Made);
            made.or_else(|| input_place(value).map(Source::Given))
        };
        Ok(Self {
            prepared,
            declared: graph.inputs().len(),
            inputs: segment.boundary.inputs.iter().filter_map(input_place).collect(),
            outputs: graph.outputs().iter().filter_map(source).collect(),
        })
    }

    /// What ends a run early, as [`PreparedSegment::canceller`].
    pub fn canceller(&self) -> Option<Arc<dyn Canceller>> {
        self.prepared.canceller()
    }

    /// Runs one frame: one tensor per declared input, one result per declared output.
    ///
    /// # Errors
    /// As [`PreparedSegment::run`], and [`BackendError::Failed`] if the frame has another number of tensors.
    pub fn run(&mut self, frame: &[Tensor]) -> Result<Vec<Tensor>, BackendError> {
        if frame.len() != self.declared {
            let detail = format!("{} inputs were given, the network has {}", frame.len(), self.declared);
            return Err(BackendError::failed(detail));
        }
        let inputs: Vec<Tensor> = self.inputs.iter().map(|&place| frame[place].clone()).collect();
        let made = self.prepared.run(&inputs)?;
        let result = |source: &Source| match *source {
            Source::Made(place) => made.get(place).cloned(),
            Source::Given(place) => frame.get(place).cloned(),
        };
        Ok(self.outputs.iter().filter_map(result).collect())
    }
}
