//! Weights: named constant tensors, loaded from wherever the file keeps them.

use bytes::Bytes;
use half::{bf16, f16};
use millstream_graph::{DataType, Shape};

use crate::error::OnnxError;
use crate::external::ExternalFiles;
use crate::proto::{EXTERNAL, TensorProto};
use crate::types::{from_onnx, to_onnx};

/// A constant tensor, little-endian and dense.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Weight {
    /// Element type.
    pub data_type: DataType,
    /// Dimensions.
    pub shape: Shape,
    /// The elements, little-endian.
    pub data: Bytes,
}

impl Weight {
    /// A weight of 32-bit floats.
    pub fn from_f32(shape: impl Into<Shape>, elements: Vec<f32>) -> Self {
        let data = Bytes::from_owner(Floats(to_little_endian(elements)));
        Self { data_type: DataType::F32, shape: shape.into(), data }
    }

    /// A weight of 64-bit integers.
    pub fn from_i64(shape: impl Into<Shape>, elements: &[i64]) -> Self {
        let data = elements.iter().flat_map(|element| element.to_le_bytes()).collect::<Vec<u8>>().into();
        Self { data_type: DataType::I64, shape: shape.into(), data }
    }

    /// The elements of a small integer tensor.
    pub fn integers(&self) -> Option<Vec<i64>> {
        match self.data_type {
            DataType::I64 => Some(self.data.as_chunks().0.iter().map(|&bytes| i64::from_le_bytes(bytes)).collect()),
            DataType::I32 => {
                Some(self.data.as_chunks().0.iter().map(|&bytes| i64::from(i32::from_le_bytes(bytes))).collect())
            }
            _ => None,
        }
    }

    /// Whether all elements of an integer tensor are numbers of 32 bits; of other tensors nothing is asked.
    pub(crate) fn fits_32_bits(&self) -> bool {
        const MOST_ASKED: usize = 1 << 12;
        let is_asked = self.data_type == DataType::I64 && self.data.len() <= MOST_ASKED;
        let fits = |value: i64| value.abs_diff(0) < u64::from(i32::MAX.unsigned_abs());
        !is_asked || self.integers().is_none_or(|values| values.into_iter().all(fits))
    }

    /// The elements of an f32 tensor.
    pub fn floats(&self) -> Option<Vec<f32>> {
        (self.data_type == DataType::F32)
            .then(|| self.data.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect())
    }

    pub(crate) fn first_nan(&self) -> Option<usize> {
        match self.data_type {
            DataType::F32 => self.data.as_chunks().0.iter().position(|&bytes| f32::from_le_bytes(bytes).is_nan()),
            DataType::F64 => self.data.as_chunks().0.iter().position(|&bytes| f64::from_le_bytes(bytes).is_nan()),
            DataType::F16 => self.data.as_chunks().0.iter().position(|&bytes| f16::from_le_bytes(bytes).is_nan()),
            DataType::Bf16 => self.data.as_chunks().0.iter().position(|&bytes| bf16::from_le_bytes(bytes).is_nan()),
            _ => None,
        }
    }

    /// The weight as an initializer that carries its own data.
    pub(crate) fn to_proto(&self, name: &str) -> TensorProto {
        TensorProto { raw_data: Some(self.data.clone()), ..self.header(name) }
    }

    /// The weight as an initializer without data.
    pub(crate) fn header(&self, name: &str) -> TensorProto {
        TensorProto {
            name: Some(name.to_owned()),
            data_type: Some(to_onnx(self.data_type)),
            dims: self.shape.dimensions().iter().map(|&dimension| dimension as i64).collect(),
            ..TensorProto::default()
        }
    }
}

/// Lets [`Bytes`] own a vector of floats without copying it.
struct Floats(Vec<f32>);

impl AsRef<[u8]> for Floats {
    fn as_ref(&self) -> &[u8] {
        bytemuck::cast_slice(&self.0)
    }
}

#[cfg(target_endian = "little")]
fn to_little_endian(elements: Vec<f32>) -> Vec<f32> {
    elements
}

#[cfg(target_endian = "big")]
fn to_little_endian(elements: Vec<f32>) -> Vec<f32> {
    elements.into_iter().map(|element| f32::from_bits(element.to_bits().swap_bytes())).collect()
}

impl Weight {
    /// A tensor as test data stand in files of their own. Unlike a weight, it may contain NaN.
    ///
    /// # Errors
    /// [`OnnxError::Weight`] if its type is not supported or its data do not fit its shape.
    #[doc(hidden)]
    pub fn from_proto(proto: &TensorProto) -> Result<Self, OnnxError> {
        load_any(proto.name.as_deref().unwrap_or_default(), proto, &mut ExternalFiles::none())
    }
}

/// Loads one initializer, whose data may be in one of the `files`.
pub(crate) fn load(name: &str, proto: &TensorProto, files: &mut ExternalFiles) -> Result<Weight, OnnxError> {
    let weight = load_any(name, proto, files)?;
    if proto.data_location == Some(EXTERNAL) && files.are_looked_at(&weight.data, to_onnx(weight.data_type)) {
        return Ok(weight);
    }
    match weight.first_nan() {
        Some(element) => Err(OnnxError::NanWeight { weight: name.to_owned(), element }),
        None => Ok(weight),
    }
}

fn load_any(name: &str, proto: &TensorProto, files: &mut ExternalFiles) -> Result<Weight, OnnxError> {
    let wrong = |detail: String| OnnxError::Weight { weight: name.to_owned(), detail };
    let data_type = from_onnx(proto.data_type.unwrap_or_default())
        .ok_or_else(|| wrong(format!("element type {} is not supported", proto.data_type.unwrap_or_default())))?;
    let dimensions: Option<Vec<usize>> = proto.dims.iter().map(|&size| usize::try_from(size).ok()).collect();
    let dimensions = dimensions.ok_or_else(|| wrong(format!("negative dimension in {:?}", proto.dims)))?;
    let element_bytes = data_type.bytes().ok_or_else(|| wrong("string weights are not supported".to_owned()))?;
    let expected = dimensions
        .iter()
        .try_fold(element_bytes, |bytes, &dimension| bytes.checked_mul(dimension))
        .ok_or_else(|| wrong(format!("dimensions {dimensions:?} are too large")))?;
    let data = if proto.data_location == Some(EXTERNAL) {
        files.read(name, proto, expected)?
    } else if let Some(raw) = &proto.raw_data {
        raw.clone()
    } else {
        typed_data(proto, data_type).into()
    };
    if data.len() != expected {
        return Err(wrong(format!("has {} bytes of data where its shape needs {expected}", data.len())));
    }
    Ok(Weight { data_type, shape: dimensions.into(), data })
}

/// Elements from the typed fields of the message, which pack small types into wider ones.
fn typed_data(proto: &TensorProto, data_type: DataType) -> Vec<u8> {
    let small = || proto.int32_data.iter();
    match data_type {
        DataType::F32 => proto.float_data.iter().flat_map(|element| element.to_le_bytes()).collect(),
        DataType::F64 => proto.double_data.iter().flat_map(|element| element.to_le_bytes()).collect(),
        DataType::I64 => proto.int64_data.iter().flat_map(|element| element.to_le_bytes()).collect(),
        DataType::U64 => proto.uint64_data.iter().flat_map(|element| element.to_le_bytes()).collect(),
        DataType::U32 => proto.uint64_data.iter().flat_map(|&element| (element as u32).to_le_bytes()).collect(),
        DataType::I32 => small().flat_map(|element| element.to_le_bytes()).collect(),
        DataType::F16 | DataType::Bf16 | DataType::I16 | DataType::U16 => {
            small().flat_map(|&element| (element as u16).to_le_bytes()).collect()
        }
        _ => small().map(|&element| element as u8).collect(),
    }
}
