//! Outputs that ONNX Runtime writes where it is told to.

use half::{bf16, f16};
use millstream_backend::{BackendError, marks};
use millstream_graph::DataType;
use ort::session::{OutputSelector, RunOptions, Session, SessionInputValue};
use ort::value::{DynValue, ValueType};

use crate::borrowed::value_over;
use crate::cancellation::Cancellation;
use crate::convert::{self, with_element_type};

/// Runs the session, whose only output ONNX Runtime writes to `memory`. Says whether it did: not if the memory is not
/// aligned for the elements or has another size, if the type can't be written so, or if nothing is seen to be written.
/// What is in the memory then means nothing.
///
/// # Errors
/// As [`Cancellation::during`].
#[expect(unsafe_code, reason = "the library only takes outputs that own their memory")]
pub(crate) fn run_into(
    session: &mut Session,
    inputs: &[SessionInputValue<'_>],
    memory: &mut [u8],
    cancellation: &Cancellation,
    device: Option<&str>,
) -> Result<bool, BackendError> {
    let [only] = session.outputs() else { return Ok(false) };
    let ValueType::Tensor { ty, shape, .. } = only.dtype() else { return Ok(false) };
    let Some(data_type) = convert::data_type(*ty) else { return Ok(false) };
    marks::mark(memory);
    // SAFETY: the memory is exclusively borrowed until this function returns. By then the value is gone: the options
    // that have it are dropped when the run ends, and so are the outputs, which are that value.
    let Some(value) = (unsafe { value_in(memory, data_type, shape) }) else { return Ok(false) };
    let selector = OutputSelector::default().preallocate(only.name(), value);
    let options = RunOptions::new().map_err(|error| BackendError::failed(error.to_string()))?.with_outputs(selector);
    cancellation.during(options, device, |options| session.run_with_options(inputs, options).map(drop))?;
    Ok(marks::is_written(memory))
}

/// A value whose elements are `memory`; `None` if they can't be.
///
/// # Safety
/// The value must not be given to a run that goes on after the borrow of `memory` has ended.
#[expect(unsafe_code, reason = "hands on what it asks of its caller")]
unsafe fn value_in(memory: &mut [u8], data_type: DataType, shape: &[i64]) -> Option<DynValue> {
    with_element_type!(data_type, T => {
        let memory: &mut [T] = bytemuck::try_cast_slice_mut(memory).ok()?;
        // SAFETY: the pointer and the number of elements are those of a slice that is exclusively borrowed, for as long
        // as the caller promises.
        unsafe { value_over(memory.as_mut_ptr(), memory.len(), shape) }
    }, otherwise None)
}
