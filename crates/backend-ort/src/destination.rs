//! Outputs that ONNX Runtime writes where it is told to.

use std::ptr::NonNull;

use bytemuck::Pod;
use half::{bf16, f16};
use millstream_graph::DataType;
use ort::memory::{Allocator, MemoryInfo};
use ort::sys;
use ort::value::{DynValue, PrimitiveTensorElementType};

use crate::convert::with_element_type;

/// Runs `work` with a value whose elements are `memory`, for ONNX Runtime to write to. `None` if `memory` is not aligned for
/// the element type or has another size, or the type is not supported.
pub(crate) fn with_destination<R>(
    memory: &mut [u8],
    data_type: DataType,
    shape: &[i64],
    work: impl FnOnce(DynValue) -> R,
) -> Option<R> {
    let elements: i64 = shape.iter().product();
    with_element_type!(data_type, T => {
        let memory: &mut [T] = bytemuck::try_cast_slice_mut(memory).ok()?;
        if memory.len() as i64 != elements {
            return None;
        }
        value_over(memory, shape).map(work)
    }, otherwise None)
}

/// A value over borrowed memory. It must not outlive the memory: [`with_destination`] gives it to a function that has nowhere to
/// keep it.
#[expect(unsafe_code, reason = "the library only takes outputs that own their memory, or copies every borrowed input")]
fn value_over<T: Pod + PrimitiveTensorElementType>(memory: &mut [T], shape: &[i64]) -> Option<DynValue> {
    let info = MemoryInfo::default();
    let mut value = std::ptr::null_mut();
    // SAFETY: the pointer and the size describe `memory`, which is valid for writes of `T` and exclusively borrowed; the shape
    // has as many elements as `memory`, and the API copies shape and information.
    let status = unsafe {
        (ort::api().CreateTensorWithDataAsOrtValue)(
            ort::AsPointer::ptr(&info),
            memory.as_mut_ptr().cast(),
            size_of_val(memory),
            shape.as_ptr(),
            shape.len(),
            T::into_tensor_element_type().into(),
            &mut value,
        )
    };
    if let Some(status) = NonNull::new(status.0) {
        // SAFETY: the status was made by the call above and nobody else has it.
        unsafe { (ort::api().ReleaseStatus)(status.as_ptr()) };
        return None;
    }
    let value = NonNull::<sys::OrtValue>::new(value)?;
    // SAFETY: the value was made by the call above and nobody else has it; it does not own its memory, so releasing it frees
    // nothing of the allocator's.
    Some(unsafe { DynValue::from_ptr(value, Some(&Allocator::default())) })
}
