//! Outputs that ONNX Runtime writes where it is told to.

use half::{bf16, f16};
use millstream_backend::BackendError;
use millstream_graph::DataType;
use ort::session::{OutputSelector, RunOptions, Session, SessionInputValue};
use ort::value::{DynValue, ValueType};

use crate::borrowed::value_over;
use crate::cancellation::Cancellation;
use crate::convert::{self, with_element_type};

/// What stands at both ends of the memory before a run.
const UNWRITTEN: [u8; 16] = *b"\xbe\x5f\xa1\xe7\x4d\xc3\x92\x68\xf3\x17\x8a\xd5\x2c\xb9\x76\x4e";

/// Runs the session, whose only output ONNX Runtime writes to `memory`. Says whether it did: not if the memory is not aligned for the
/// elements or has another size, if the type can't be written so, or if nothing is seen to be written. What is in the memory then
/// means nothing.
///
/// # Errors
/// As [`Cancellation::during`].
#[expect(unsafe_code, reason = "the library only takes outputs that own their memory")]
pub(crate) fn run_into(
    session: &mut Session,
    inputs: &[SessionInputValue<'_>],
    memory: &mut [u8],
    cancellation: &Cancellation,
) -> Result<bool, BackendError> {
    let [only] = session.outputs() else { return Ok(false) };
    let ValueType::Tensor { ty, shape, .. } = only.dtype() else { return Ok(false) };
    let Some(data_type) = convert::data_type(*ty) else { return Ok(false) };
    mark(memory);
    // SAFETY: the memory is exclusively borrowed until this function returns. By then the value is gone: the options that have it are
    // dropped when the run ends, and so are the outputs, which are that value.
    let Some(value) = (unsafe { value_in(memory, data_type, shape) }) else { return Ok(false) };
    let selector = OutputSelector::default().preallocate(only.name(), value);
    let options = RunOptions::new().map_err(|error| BackendError::failed(error.to_string()))?.with_outputs(selector);
    cancellation.during(options, |options| session.run_with_options(inputs, options).map(drop))?;
    Ok(is_written(memory))
}

/// A value whose elements are `memory`; `None` if they can't be.
///
/// # Safety
/// The value must not be given to a run that goes on after the borrow of `memory` has ended.
#[expect(unsafe_code, reason = "hands on what it asks of its caller")]
unsafe fn value_in(memory: &mut [u8], data_type: DataType, shape: &[i64]) -> Option<DynValue> {
    with_element_type!(data_type, T => {
        let memory: &mut [T] = bytemuck::try_cast_slice_mut(memory).ok()?;
        // SAFETY: the pointer and the number of elements are those of a slice that is exclusively borrowed, for as long as the caller
        // promises.
        unsafe { value_over(memory.as_mut_ptr(), memory.len(), shape) }
    }, otherwise None)
}

/// Makes it visible whether something is written.
fn mark(memory: &mut [u8]) {
    let ends = memory.len().min(UNWRITTEN.len());
    let last = memory.len() - ends;
    memory[..ends].copy_from_slice(&UNWRITTEN[..ends]);
    memory[last..].copy_from_slice(&UNWRITTEN[..ends]);
}

/// Whether the marks are gone. What a run returns does not tell: it is the value that it was given, even if ONNX Runtime left that alone.
/// A result may be the same as the marks, above all one of few bytes; it counts as not written.
fn is_written(memory: &[u8]) -> bool {
    let ends = memory.len().min(UNWRITTEN.len());
    let last = memory.len() - ends;
    // The marks of a small memory overlap.
    let first = ends.min(last);
    memory[last..] != UNWRITTEN[..ends] || memory[..first] != UNWRITTEN[..first]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_is_left_alone_is_not_taken_for_a_result() {
        for bytes in [0, 1, 15, 16, 17, 31, 32, 33, 1000] {
            let mut memory = vec![7; bytes];
            mark(&mut memory);
            assert!(!is_written(&memory), "{bytes}");
            let marked = memory.clone();
            for changed in [0, bytes / 2, bytes.saturating_sub(1)] {
                let Some(byte) = memory.get_mut(changed) else { continue };
                *byte ^= 1;
                let is_marked = changed < 16.min(bytes) || changed >= bytes.saturating_sub(16);
                assert_eq!(is_written(&memory), is_marked, "byte {changed} of {bytes}");
                memory.clone_from(&marked);
            }
        }
    }
}
