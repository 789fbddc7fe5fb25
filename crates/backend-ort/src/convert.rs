//! Between Millstream's tensors and ONNX Runtime's values.

use std::any::Any;
use std::sync::Arc;

use bytemuck::Pod;
use half::{bf16, f16};
use millstream_backend::{Storage, Tensor};
use millstream_graph::{DataType, Shape};
use millstream_onnx::Weight;
use ort::session::SessionInputValue;
use ort::value::{DynValue, PrimitiveTensorElementType, TensorElementType, TensorRef, ValueType};

use crate::borrowed::value_over;

/// Runs `$body` with `$T` bound to the Rust type of a [`DataType`]; strings take the other branch.
macro_rules! with_element_type {
    ($data_type:expr, $T:ident => $body:expr, otherwise $other:expr) => {
        match $data_type {
            DataType::F32 => {
                type $T = f32;
                $body
            }
            DataType::F64 => {
                type $T = f64;
                $body
            }
            DataType::F16 => {
                type $T = f16;
                $body
            }
            DataType::Bf16 => {
                type $T = bf16;
                $body
            }
            DataType::I8 => {
                type $T = i8;
                $body
            }
            DataType::I16 => {
                type $T = i16;
                $body
            }
            DataType::I32 => {
                type $T = i32;
                $body
            }
            DataType::I64 => {
                type $T = i64;
                $body
            }
            DataType::U8 => {
                type $T = u8;
                $body
            }
            DataType::U16 => {
                type $T = u16;
                $body
            }
            DataType::U32 => {
                type $T = u32;
                $body
            }
            DataType::U64 => {
                type $T = u64;
                $body
            }
            _ => $other,
        }
    };
}

pub(crate) use with_element_type;

/// A value that ONNX Runtime made, as a tensor's storage.
struct OrtStorage {
    value: DynValue,
    data_type: DataType,
}

impl Storage for OrtStorage {
    fn bytes(&self) -> Option<&[u8]> {
        if self.data_type == DataType::Bool {
            return self.value.try_extract_tensor::<bool>().ok().map(|(_, elements)| bytemuck::cast_slice(elements));
        }
        with_element_type!(self.data_type, T => {
            self.value.try_extract_tensor::<T>().ok().map(|(_, elements)| bytemuck::cast_slice(elements))
        }, otherwise None)
    }

    fn strings(&self) -> Option<Vec<String>> {
        let strings = (self.data_type == DataType::String).then(|| self.value.try_extract_strings().ok());
        strings.flatten().map(|(_, strings)| strings)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Wraps an output of a session.
pub(crate) fn tensor(value: DynValue) -> Result<Tensor, String> {
    let ValueType::Tensor { ty, shape, .. } = value.dtype() else {
        return Err(format!("an output is not a tensor but {}", value.dtype()));
    };
    let data_type = data_type(*ty).ok_or_else(|| format!("an output has the unsupported element type {ty}"))?;
    let shape = Shape::from(shape.iter().map(|&size| size.max(0) as usize).collect::<Vec<_>>());
    Ok(Tensor::new(data_type, shape, Arc::new(OrtStorage { value, data_type })))
}

/// A tensor as an input of a session: the very value if ONNX Runtime made it, a view of its elements otherwise.
pub(crate) fn input(tensor: &Tensor) -> Result<SessionInputValue<'_>, String> {
    if let Some(storage) = tensor.storage().as_any().downcast_ref::<OrtStorage>() {
        return Ok((&storage.value).into());
    }
    let shape: Vec<i64> = tensor.shape().dimensions().iter().map(|&size| size as i64).collect();
    if let Some(strings) = tensor.strings() {
        let value = ort::value::Tensor::from_string_array((shape, strings.as_slice()));
        return value.map(Into::into).map_err(|error| error.to_string());
    }
    let bytes = tensor.bytes().ok_or("the tensor is not in host memory")?;
    if tensor.data_type() == DataType::Bool {
        let flags: Vec<bool> = bytes.iter().map(|&byte| byte != 0).collect();
        return ort::value::Tensor::from_array((shape, flags)).map(Into::into).map_err(|error| error.to_string());
    }
    with_element_type!(tensor.data_type(), T => view::<T>(shape, bytes), otherwise {
        Err(format!("tensors of {} can't be passed to ONNX Runtime", tensor.data_type()))
    })
}

fn view<T>(shape: Vec<i64>, bytes: &[u8]) -> Result<SessionInputValue<'_>, String>
where
    T: Pod + PrimitiveTensorElementType + std::fmt::Debug,
{
    match bytemuck::try_cast_slice::<u8, T>(bytes) {
        Ok(elements) => {
            TensorRef::from_array_view((shape, elements)).map(Into::into).map_err(|error| error.to_string())
        }
        // Elements that are not aligned for their type have to move.
        Err(_) => owned::<T>(shape, bytes).map(Into::into),
    }
}

fn owned<T>(shape: Vec<i64>, bytes: &[u8]) -> Result<DynValue, String>
where
    T: Pod + PrimitiveTensorElementType + std::fmt::Debug,
{
    let elements: Vec<T> = bytemuck::pod_collect_to_vec(bytes);
    ort::value::Tensor::from_array((shape, elements))
        .map(ort::value::Value::into_dyn)
        .map_err(|error| error.to_string())
}

/// A weight as a value: over its own elements if these lie as ONNX Runtime needs them, of a copy otherwise.
///
/// # Safety
/// No session may have the value for longer than the weight's elements are kept.
#[expect(unsafe_code, reason = "hands on what it asks of its caller")]
pub(crate) unsafe fn weight_value(weight: &Weight) -> Result<WeightValue, String> {
    let shape: Vec<i64> = weight.shape.dimensions().iter().map(|&size| size as i64).collect();
    if weight.data_type == DataType::Bool {
        let flags: Vec<bool> = weight.data.iter().map(|&byte| byte != 0).collect();
        let value = ort::value::Tensor::from_array((shape, flags)).map_err(|error| error.to_string())?;
        return Ok(WeightValue::Copied(value.into_dyn()));
    }
    with_element_type!(weight.data_type, T => {
        if let Ok(elements) = bytemuck::try_cast_slice::<u8, T>(&weight.data) {
            // SAFETY: the pointer and the number of elements are those of a slice that nobody writes to, least of all a
            // session, to which weights are constants; the caller keeps it.
            let value = unsafe { value_over(elements.as_ptr().cast_mut(), elements.len(), &shape) };
            return value.map(WeightValue::Viewed).ok_or_else(|| "its elements do not fit its shape".to_owned());
        }
        owned::<T>(shape, &weight.data).map(WeightValue::Copied)
    }, otherwise {
        Err(format!("weights of {} are not supported", weight.data_type))
    })
}

/// A weight as ONNX Runtime takes it.
pub(crate) enum WeightValue {
    /// Its elements are the weight's own.
    Viewed(DynValue),
    /// It has a copy of the elements.
    Copied(DynValue),
}

pub(crate) fn data_type(element: TensorElementType) -> Option<DataType> {
    Some(match element {
        TensorElementType::Float32 => DataType::F32,
        TensorElementType::Float64 => DataType::F64,
        TensorElementType::Float16 => DataType::F16,
        TensorElementType::Bfloat16 => DataType::Bf16,
        TensorElementType::Int8 => DataType::I8,
        TensorElementType::Int16 => DataType::I16,
        TensorElementType::Int32 => DataType::I32,
        TensorElementType::Int64 => DataType::I64,
        TensorElementType::Uint8 => DataType::U8,
        TensorElementType::Uint16 => DataType::U16,
        TensorElementType::Uint32 => DataType::U32,
        TensorElementType::Uint64 => DataType::U64,
        TensorElementType::Bool => DataType::Bool,
        TensorElementType::String => DataType::String,
        _ => return None,
    })
}
