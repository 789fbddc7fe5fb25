//! Tensors of the library's, and its views of memory that others own.

use std::marker::PhantomData;

use openvino::ElementType;
use openvino_sys::{
    ov_shape_free, ov_shape_t, ov_status_e, ov_tensor_create, ov_tensor_create_from_host_ptr, ov_tensor_data,
    ov_tensor_free, ov_tensor_get_byte_size, ov_tensor_get_shape, ov_tensor_t,
};

use super::{Result, check, handle};

handle!(
    /// A tensor as the library knows it.
    TensorHandle, ov_tensor_t, ov_tensor_free
);

/// A tensor whose elements the library keeps. Nobody writes to it but a request that has it exclusively.
///
/// The tensors of the library `openvino` do as much, but for those of one number, which have no dimensions.
pub(crate) struct Owned(TensorHandle);

#[expect(unsafe_code, reason = "the library says nothing of threads")]
// SAFETY: the library's tensors belong to no thread.
unsafe impl Send for Owned {}
#[expect(unsafe_code, reason = "the library says nothing of threads")]
// SAFETY: through a shared reference only shape and elements are read, which the library's C++ interface declares as
// functions that do not change a tensor. What writes, a request, is given a tensor only by an exclusive reference
// (`Output::Owned`), or as an input, which requests read.
unsafe impl Sync for Owned {}

impl Owned {
    /// A tensor of zeros.
    #[expect(unsafe_code, reason = "calls the library")]
    pub(crate) fn new(element: ElementType, dimensions: &[i64]) -> Result<Self> {
        let mut dimensions = dimensions.to_vec();
        // SAFETY: the call copies the shape, which exists until it returns, and writes to where it is told.
        let make = |made| unsafe { ov_tensor_create(element.into(), shape_of(&mut dimensions), made) };
        let tensor = Self(TensorHandle::make(make)?);
        if let Some((data, bytes)) = tensor.data()? {
            // SAFETY: the library made the tensor with room for so many bytes, and nobody else has it yet.
            unsafe { data.write_bytes(0, bytes) };
        }
        Ok(tensor)
    }

    /// A tensor that another function of the library's makes known.
    pub(super) fn made_by(function: impl FnOnce(*mut *mut ov_tensor_t) -> ov_status_e) -> Result<Self> {
        TensorHandle::make(function).map(Self)
    }

    /// The elements, to be written.
    #[expect(unsafe_code, reason = "calls the library")]
    pub(crate) fn bytes_mut(&mut self) -> Result<&mut [u8]> {
        Ok(match self.data()? {
            None => &mut [],
            // SAFETY: as in `bytes`, and the tensor is exclusively borrowed.
            Some((data, bytes)) => unsafe { std::slice::from_raw_parts_mut(data, bytes) },
        })
    }

    /// The elements.
    #[expect(unsafe_code, reason = "calls the library")]
    pub(crate) fn bytes(&self) -> Result<&[u8]> {
        Ok(match self.data()? {
            None => &[],
            // SAFETY: the library keeps so many bytes there for as long as the tensor exists, or until a request that
            // has it exclusively gives it another size. All of them were written: when the tensor was made, or by the
            // request.
            Some((data, bytes)) => unsafe { std::slice::from_raw_parts(data, bytes) },
        })
    }

    /// The dimensions that it has now: a request that makes results of sizes that nobody knows before changes them.
    #[expect(unsafe_code, reason = "calls the library")]
    pub(crate) fn dimensions(&self) -> Result<Vec<i64>> {
        let mut shape = ov_shape_t { rank: 0, dims: std::ptr::null_mut() };
        // SAFETY: the tensor exists, and the call writes a shape to where it is told.
        let status = unsafe { ov_tensor_get_shape(self.0.as_ptr(), &raw mut shape) };
        take_shape(status, shape)
    }

    /// Where the elements are, and how many bytes; `None` if there are none.
    #[expect(unsafe_code, reason = "calls the library")]
    fn data(&self) -> Result<Option<(*mut u8, usize)>> {
        let mut bytes = 0;
        // SAFETY: the tensor exists, and the call writes a number to where it is told.
        check(unsafe { ov_tensor_get_byte_size(self.0.as_ptr(), &raw mut bytes) })?;
        let mut data = std::ptr::null_mut();
        if bytes > 0 {
            // SAFETY: as above, with an address.
            check(unsafe { ov_tensor_data(self.0.as_ptr(), &raw mut data) })?;
        }
        Ok((!data.is_null()).then_some((data.cast(), bytes)))
    }

    pub(super) fn as_ptr(&self) -> *const ov_tensor_t {
        self.0.as_ptr()
    }
}

/// Dimensions as the library takes them, for as long as these exist.
fn shape_of(dimensions: &mut [i64]) -> ov_shape_t {
    ov_shape_t { rank: dimensions.len() as i64, dims: dimensions.as_mut_ptr() }
}

/// The dimensions of a shape that the library made, which is freed, or was to make. It makes none without dimensions,
/// as of one number, but complains of its own parameter.
#[expect(unsafe_code, reason = "calls the library")]
pub(super) fn take_shape(status: ov_status_e, mut shape: ov_shape_t) -> Result<Vec<i64>> {
    if status == ov_status_e::INVALID_C_PARAM {
        return Ok(Vec::new());
    }
    check(status)?;
    let rank = usize::try_from(shape.rank).unwrap_or(0);
    let dimensions = if shape.dims.is_null() {
        Vec::new()
    } else {
        // SAFETY: the library wrote as many dimensions as it says, and they exist until the shape is freed.
        unsafe { std::slice::from_raw_parts(shape.dims, rank) }.to_vec()
    };
    // SAFETY: the library made the shape, and nobody else frees it.
    check(unsafe { ov_shape_free(&raw mut shape) })?;
    Ok(dimensions)
}

/// The library's view of memory, for as long as that is borrowed.
pub(super) struct View<'a> {
    handle: TensorHandle,
    memory: PhantomData<&'a [u8]>,
}

impl<'a> View<'a> {
    /// A view of elements that are read.
    pub(super) fn of(element: ElementType, dimensions: &[i64], memory: &'a [u8]) -> Result<Self> {
        Self::at(element, dimensions, memory.as_ptr().cast_mut())
    }

    /// A view of elements that are written.
    pub(super) fn of_mut(element: ElementType, dimensions: &[i64], memory: &'a mut [u8]) -> Result<Self> {
        Self::at(element, dimensions, memory.as_mut_ptr())
    }

    #[expect(unsafe_code, reason = "the library `openvino` only makes tensors that own their elements")]
    fn at(element: ElementType, dimensions: &[i64], memory: *mut u8) -> Result<Self> {
        let mut dimensions = dimensions.to_vec();
        let shape = shape_of(&mut dimensions);
        // SAFETY: the shape has as many dimensions as it says, and the call copies it. It only notes where the memory
        // is, which stays borrowed for as long as the view exists; `Request::infer` sees to it that nothing is looked
        // at after that.
        let make = |made| unsafe { ov_tensor_create_from_host_ptr(element.into(), shape, memory.cast(), made) };
        Ok(Self { handle: TensorHandle::make(make)?, memory: PhantomData })
    }

    pub(super) fn as_ptr(&self) -> *const ov_tensor_t {
        self.handle.as_ptr()
    }
}

/// An input of a request.
pub(crate) enum Source<'a> {
    /// A tensor of the library's.
    Owned(&'a Owned),
    /// Elements in the memory of others, as many as the dimensions say.
    Borrowed {
        /// Their type.
        element: ElementType,
        /// Their dimensions.
        dimensions: Vec<i64>,
        /// The elements.
        bytes: &'a [u8],
    },
}
