//! Values over memory that somebody else owns.

use std::ptr::NonNull;

use ort::memory::{Allocator, MemoryInfo};
use ort::sys;
use ort::value::{DynValue, PrimitiveTensorElementType};

/// A value whose elements are the `elements` at `memory`; `None` if ONNX Runtime refuses, or the shape has another
/// number of elements.
///
/// # Safety
/// `memory` must be aligned for `T` and be valid for reads of so many elements for as long as anything reads the value,
/// that is a session that it is given to; and for writes without any other access, where it is given to a session as an
/// output. Releasing the value does not touch the memory.
#[expect(unsafe_code, reason = "the library only makes values that own their memory, or that end with a borrow")]
pub(crate) unsafe fn value_over<T: PrimitiveTensorElementType>(
    memory: *mut T,
    elements: usize,
    shape: &[i64],
) -> Option<DynValue> {
    let in_shape = shape.iter().try_fold(1_usize, |product, &size| product.checked_mul(usize::try_from(size).ok()?))?;
    if in_shape != elements {
        return None;
    }

    let info = MemoryInfo::default();
    let mut value = std::ptr::null_mut();
    // SAFETY: the caller vouches for the memory; the shape has as many elements, and the API copies shape and
    // information.
    let status = unsafe {
        (ort::api().CreateTensorWithDataAsOrtValue)(
            ort::AsPointer::ptr(&info),
            memory.cast(),
            elements.checked_mul(size_of::<T>())?,
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
    // SAFETY: the value was made by the call above and nobody else has it; it does not own its memory, so releasing it
    // frees nothing of the allocator's.
    Some(unsafe { DynValue::from_ptr(value, Some(&Allocator::default())) })
}
