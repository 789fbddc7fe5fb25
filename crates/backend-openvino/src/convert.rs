//! Between Millstream's tensors and OpenVINO's.

use std::any::Any;
use std::sync::Arc;

use millstream_backend::{Storage, Tensor};
use millstream_graph::{DataType, Shape};
use openvino::ElementType;

use crate::native::{Owned, Port, Source};

/// A tensor that OpenVINO keeps, as a tensor's storage.
pub(crate) struct OpenVinoStorage(pub(crate) Owned);

impl Storage for OpenVinoStorage {
    fn bytes(&self) -> Option<&[u8]> {
        self.0.bytes().ok()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// A tensor as an input: the very tensor if OpenVINO keeps it, its elements where they are otherwise.
///
/// # Errors
/// Says what is wrong with a tensor that OpenVINO can't read.
pub(crate) fn input(tensor: &Tensor) -> Result<Source<'_>, String> {
    if let Some(storage) = tensor.storage().as_any().downcast_ref::<OpenVinoStorage>() {
        return Ok(Source::Owned(&storage.0));
    }
    let element = element(tensor.data_type())
        .ok_or_else(|| format!("tensors of {} can't be passed to OpenVINO", tensor.data_type()))?;
    let bytes = tensor.bytes().ok_or("the tensor is not in host memory")?;
    let dimensions = tensor.shape().dimensions().iter().map(|&size| size as i64).collect();
    Ok(Source::Borrowed { element, dimensions, bytes })
}

/// Wraps an output.
///
/// # Errors
/// Says what is wrong with what OpenVINO made.
pub(crate) fn tensor(port: &Port, storage: Arc<OpenVinoStorage>) -> Result<Tensor, String> {
    let dimensions = storage.0.dimensions().map_err(|error| error.to_string())?;
    Ok(Tensor::new(type_of(port)?, shape(&dimensions), storage))
}

/// An output of which there is a copy.
///
/// # Errors
/// As of [`tensor`].
pub(crate) fn copied(port: &Port, dimensions: &[i64], bytes: Vec<u8>) -> Result<Tensor, String> {
    Ok(Tensor::from_bytes(type_of(port)?, shape(dimensions), bytes))
}

/// The dimensions of an output, if memory has the size that it needs and begins where its elements may.
pub(crate) fn dimensions_in<'a>(port: &'a Port, memory: &[u8]) -> Option<&'a [i64]> {
    let dimensions = port.dimensions.as_deref()?;
    let element = data_type(port.element).and_then(DataType::bytes)?;
    let size = |&size: &i64| usize::try_from(size).ok();
    let bytes = dimensions.iter().try_fold(element, |product, dimension| product.checked_mul(size(dimension)?))?;
    let fits = bytes == memory.len() && bytes > 0 && memory.as_ptr().addr().is_multiple_of(element);
    fits.then_some(dimensions)
}

fn shape(dimensions: &[i64]) -> Shape {
    Shape::from(dimensions.iter().map(|&size| usize::try_from(size).unwrap_or(0)).collect::<Vec<_>>())
}

fn type_of(port: &Port) -> Result<DataType, String> {
    data_type(port.element).ok_or_else(|| format!("an output has the unsupported type {}", port.element))
}

/// What OpenVINO calls a type; `None` for strings.
pub(crate) fn element(data_type: DataType) -> Option<ElementType> {
    Some(match data_type {
        DataType::F32 => ElementType::F32,
        DataType::F64 => ElementType::F64,
        DataType::F16 => ElementType::F16,
        DataType::Bf16 => ElementType::Bf16,
        DataType::I8 => ElementType::I8,
        DataType::I16 => ElementType::I16,
        DataType::I32 => ElementType::I32,
        DataType::I64 => ElementType::I64,
        DataType::U8 => ElementType::U8,
        DataType::U16 => ElementType::U16,
        DataType::U32 => ElementType::U32,
        DataType::U64 => ElementType::U64,
        DataType::Bool => ElementType::Boolean,
        _ => return None,
    })
}

pub(crate) fn data_type(element: ElementType) -> Option<DataType> {
    const ALL: [DataType; 13] = [
        DataType::F32,
        DataType::F64,
        DataType::F16,
        DataType::Bf16,
        DataType::I8,
        DataType::I16,
        DataType::I32,
        DataType::I64,
        DataType::U8,
        DataType::U16,
        DataType::U32,
        DataType::U64,
        DataType::Bool,
    ];
    ALL.into_iter().find(|&known| self::element(known) == Some(element))
}
