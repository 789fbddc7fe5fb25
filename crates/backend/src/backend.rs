use std::collections::HashMap;
use std::ops::Range;
use std::time::Duration;

use millstream_board::Processor;
use millstream_graph::{Boundary, Graph, OperatorId, ValueId};

use crate::{BackendError, Tensor};

/// Operators that run as one, and the values that cross their border.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// The operators, in the order in which they run.
    pub operators: Vec<OperatorId>,
    /// What they read from and make for others.
    pub boundary: Boundary,
    /// The output channels of the first operator that are made, if not all: the others follow it channel by channel. Inputs
    /// are whole, the only output has these channels.
    pub channels: Option<Range<usize>>,
}

impl Segment {
    /// The segment of these operators, given in the order in which they run.
    pub fn new(graph: &Graph, operators: Vec<OperatorId>) -> Self {
        let boundary = graph.boundary(&operators);
        Self { operators, boundary, channels: None }
    }

    /// The part of operators that makes these output channels of the first one.
    pub fn part(graph: &Graph, operators: Vec<OperatorId>, channels: Range<usize>) -> Self {
        Self { channels: Some(channels), ..Self::new(graph, operators) }
    }

    /// The tensors that the segment takes, of a frame that has one tensor for each input of the network. Inputs that the segment does
    /// not read are left out, and values that are no inputs of the network are missing.
    pub fn inputs_of(&self, graph: &Graph, frame: &[Tensor]) -> Vec<Tensor> {
        let place = |value| graph.inputs().iter().position(|input| input == value);
        self.boundary.inputs.iter().filter_map(|value| frame.get(place(value)?).cloned()).collect()
    }

    /// The tensors that the segment takes, of those that were made so far. Values that are not there are left out.
    pub fn inputs_from(&self, values: &HashMap<ValueId, Tensor>) -> Vec<Tensor> {
        self.boundary.inputs.iter().filter_map(|value| values.get(value).cloned()).collect()
    }

    /// The whole network. [`WholeNetwork`](crate::WholeNetwork) runs it.
    pub fn whole(graph: &Graph) -> Self {
        Self::new(graph, graph.order().to_vec())
    }
}

/// Something that executes the operators of one model.
pub trait Backend: Send + Sync {
    /// Short name, such as `onnxruntime`.
    fn name(&self) -> &str;

    /// Whether the processor can run the operator. Searches rely on the answer.
    fn supports(&self, operator: OperatorId, processor: &Processor) -> bool;

    /// Makes a segment ready to run on a processor. The calling thread is the one that will run it and is already pinned to
    /// the processor's first core; further cores are the backend's to use.
    ///
    /// # Errors
    /// [`BackendError::Unavailable`] or [`BackendError::Prepare`].
    fn prepare(&self, segment: &Segment, processor: &Processor) -> Result<Box<dyn PreparedSegment>, BackendError>;

    /// Runs a segment frame by frame as [`Backend::prepare`] would have it run, and tells how long its operators took in
    /// it. `go_on` is given the time of each frame and says whether another one should follow. Threads are as for
    /// [`Backend::prepare`]. A backend that can't tell the times of operators apart runs nothing and returns no times.
    ///
    /// # Errors
    /// As [`Backend::prepare`] and [`PreparedSegment::run`].
    fn trace(
        &self,
        segment: &Segment,
        processor: &Processor,
        inputs: &[Tensor],
        go_on: &mut dyn FnMut(Duration) -> bool,
    ) -> Result<Vec<OperatorTimes>, BackendError> {
        let _ = (segment, processor, inputs, go_on);
        Ok(Vec::new())
    }

    /// Moves so many bytes to the processor's memory and back, once, and tells how long that took. `None` if the processor works
    /// in the host's memory.
    ///
    /// # Errors
    /// As [`PreparedSegment::run`].
    fn transfer_times(&self, processor: &Processor, bytes: u64) -> Result<Option<TransferTimes>, BackendError> {
        let _ = (processor, bytes);
        Ok(None)
    }
}

/// What moving some bytes to and from a processor's own memory took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransferTimes {
    /// From host memory to the processor's.
    pub upload: Duration,
    /// From the processor's memory to the host's.
    pub download: Duration,
}

/// How long one or several operators took that a backend ran as one, in context.
#[derive(Debug, Clone, PartialEq)]
pub struct OperatorTimes {
    /// The operators. Every operator of the segment is in one such group.
    pub operators: Vec<OperatorId>,
    /// One time per frame.
    pub seconds: Vec<f64>,
}

/// A segment that is ready to run.
pub trait PreparedSegment: Send {
    /// Runs one frame. Inputs and outputs are in the order of the segment's [`Boundary`].
    ///
    /// # Errors
    /// [`BackendError::Input`] if a tensor does not fit, [`BackendError::Failed`] if an operator fails. The segment stays
    /// usable for the next frame.
    fn run(&mut self, inputs: &[Tensor]) -> Result<Vec<Tensor>, BackendError>;

    /// As [`PreparedSegment::run`] for a segment with one output, which is written into `output`: dense, in native byte order.
    /// Backends that can let operators write there do; others copy.
    ///
    /// # Errors
    /// As [`PreparedSegment::run`], and [`BackendError::Failed`] if the output has another size or number.
    fn run_into(&mut self, inputs: &[Tensor], output: &mut [u8]) -> Result<(), BackendError> {
        copy_output(&self.run(inputs)?, output)
    }
}

/// Copies the only one of `outputs` to `output`.
///
/// # Errors
/// [`BackendError::Failed`] if there are more or fewer, or the size is another.
pub fn copy_output(outputs: &[Tensor], output: &mut [u8]) -> Result<(), BackendError> {
    let [made] = outputs else {
        return Err(BackendError::failed(format!("the segment made {} values, not one", outputs.len())));
    };
    let bytes = made.bytes().ok_or_else(|| BackendError::failed("the output is not in host memory"))?;
    if bytes.len() != output.len() {
        let detail = format!("the output has {} bytes, there is room for {}", bytes.len(), output.len());
        return Err(BackendError::failed(detail));
    }
    output.copy_from_slice(bytes);
    Ok(())
}
