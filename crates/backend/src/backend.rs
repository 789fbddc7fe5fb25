//! The interfaces of backends: preparing segments, running frames through them, and ending a run early.

use std::sync::Arc;

use millstream_board::Processor;
use millstream_graph::{OperatorId, Value};

use crate::error::BackendError;
use crate::segment::Segment;
use crate::tensor::Tensor;

/// Something that executes the operators of one model.
pub trait Backend: Send + Sync {
    /// Short name, such as `onnxruntime`.
    fn name(&self) -> &str;

    /// Whether the processor can run the operator. Searches rely on the answer.
    fn supports(&self, operator: OperatorId, processor: &Processor) -> bool;

    /// Why the processor can't run an operator that [`Backend::supports`] refuses, for people; `None` where the backend
    /// does not tell.
    fn why_refused(&self, _operator: OperatorId, _processor: &Processor) -> Option<String> {
        None
    }

    /// Makes a segment ready to run on a processor. The calling thread is the one that will run it and is already
    /// pinned to the processor's first core; further cores are the backend's to use.
    ///
    /// # Errors
    /// [`BackendError::Unavailable`] on a processor that is not the backend's, [`BackendError::Prepare`] for operators
    /// that it does not support, [`BackendError::DeviceLost`] and [`BackendError::OutOfMemory`] as they are.
    fn prepare(&self, segment: &Segment, processor: &Processor) -> Result<Box<dyn PreparedSegment>, BackendError>;

    /// Says that the segments of another schedule are prepared from here on. What a backend shares between segments,
    /// such as weights in the order that kernels want, lives as long as the segments of the schedule that it was made
    /// for; a backend that shares nothing needs not know.
    fn begin_schedule(&self) {}
}

/// Ends a frame that takes too long, from another thread than the one that runs it.
pub trait Canceller: Send + Sync {
    /// Has the `run` that is under way end soon, with [`BackendError::Cancelled`]. A run that is almost done may still
    /// succeed. Does nothing where none is: the next one is not affected.
    fn cancel(&self);
}

/// A segment that is ready to run.
pub trait PreparedSegment: Send {
    /// Runs one frame. Inputs and outputs are in the order of the segment's [`Boundary`](millstream_graph::Boundary).
    ///
    /// # Errors
    /// [`BackendError::Input`] if a tensor does not fit, [`BackendError::Failed`] if an operator fails,
    /// [`BackendError::Cancelled`] if it was ended. The segment stays usable for the next frame, unless it is
    /// [`BackendError::DeviceLost`].
    fn run(&mut self, inputs: &[Tensor]) -> Result<Vec<Tensor>, BackendError>;

    /// As [`PreparedSegment::run`] for a segment with one output, which is written into `output`: dense, in native byte
    /// order. Backends that can let operators write there do; others copy.
    ///
    /// # Errors
    /// As [`PreparedSegment::run`], and [`BackendError::Failed`] if the output has another size or number.
    fn run_into(&mut self, inputs: &[Tensor], output: &mut [u8]) -> Result<(), BackendError> {
        copy_output(&self.run(inputs)?, output)
    }

    /// What ends a run of this segment early; `None` if nothing can. The segment stays usable.
    fn canceller(&self) -> Option<Arc<dyn Canceller>> {
        None
    }
}

/// Checks that there is a tensor for each of the values that a segment takes, and that each fits.
///
/// # Errors
/// [`BackendError::Failed`] if there are more or fewer, [`BackendError::Input`] with the first that does not fit.
pub fn check_inputs<'a>(
    values: impl ExactSizeIterator<Item = &'a Value>,
    inputs: &[Tensor],
) -> Result<(), BackendError> {
    if inputs.len() != values.len() {
        return Err(BackendError::failed(format!("{} inputs were given, {} are needed", inputs.len(), values.len())));
    }
    values.zip(inputs).try_for_each(|(value, tensor)| {
        tensor.check_fits(value).map_err(|expected| BackendError::Input {
            value: value.name.clone(),
            expected,
            found: tensor.description(),
        })
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_result_of_the_right_size_is_copied() {
        let made = Tensor::from_bytes(millstream_graph::DataType::U8, [3], vec![1, 2, 3]);
        let mut room = [0; 3];
        copy_output(std::slice::from_ref(&made), &mut room).unwrap();
        assert_eq!(room, [1, 2, 3]);
        for size in [0, 2, 4] {
            assert!(copy_output(std::slice::from_ref(&made), &mut vec![0; size]).is_err(), "{size}");
        }
        assert!(copy_output(&[], &mut []).is_err());
        assert!(copy_output(&[made.clone(), made], &mut room).is_err());
        assert!(copy_output(&[Tensor::from_strings([1], vec!["a".to_owned()])], &mut room).is_err());
    }
}
