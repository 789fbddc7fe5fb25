//! Values: the tensors that operators hand over, with their types and shapes.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Identifies a [`Value`] of one [`Graph`](crate::Graph).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId(pub(crate) u32);

impl ValueId {
    /// Position of the value in [`Graph::values`](crate::Graph::values).
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A tensor that flows along the edges of a graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Value {
    /// Unique name.
    pub name: String,
    /// Element type, where it is known. A value of unknown type can't be handed over between segments.
    pub data_type: Option<DataType>,
    /// Fixed shape, where it is known.
    pub shape: Option<Shape>,
}

impl Value {
    /// Size of the tensor in bytes, where type and shape are known; `u64::MAX` for more than that.
    pub fn bytes(&self) -> Option<u64> {
        let elements = self.shape.as_ref()?.elements();
        Some(elements.saturating_mul(self.data_type?.bytes()? as u64))
    }
}

/// Dimensions of a tensor, outermost first.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Shape(Vec<usize>);

impl Shape {
    /// The dimensions, outermost first.
    pub fn dimensions(&self) -> &[usize] {
        &self.0
    }

    /// Number of elements: 1 for a scalar, 0 where a dimension is 0, `u64::MAX` for more than that.
    pub fn elements(&self) -> u64 {
        if self.0.contains(&0) {
            return 0;
        }
        self.0.iter().fold(1, |product: u64, &dimension| product.saturating_mul(dimension as u64))
    }
}

impl From<Vec<usize>> for Shape {
    fn from(dimensions: Vec<usize>) -> Self {
        Self(dimensions)
    }
}

impl<const N: usize> From<[usize; N]> for Shape {
    fn from(dimensions: [usize; N]) -> Self {
        Self(dimensions.to_vec())
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "[")?;
        for (position, dimension) in self.0.iter().enumerate() {
            let separator = if position > 0 { ", " } else { "" };
            write!(formatter, "{separator}{dimension}")?;
        }
        write!(formatter, "]")
    }
}

/// Element type of a tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the names are the types")]
pub enum DataType {
    F32,
    F64,
    F16,
    Bf16,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    Bool,
    String,
}

impl DataType {
    /// Whether elements are floating-point numbers.
    pub fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64 | Self::F16 | Self::Bf16)
    }

    /// Bytes per element; `None` for strings.
    pub fn bytes(self) -> Option<usize> {
        match self {
            Self::I8 | Self::U8 | Self::Bool => Some(1),
            Self::F16 | Self::Bf16 | Self::I16 | Self::U16 => Some(2),
            Self::F32 | Self::I32 | Self::U32 => Some(4),
            Self::F64 | Self::I64 | Self::U64 => Some(8),
            Self::String => None,
        }
    }
}

impl fmt::Display for DataType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::I8 => "i8",
            Self::I16 => "i16",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::U64 => "u64",
            Self::Bool => "bool",
            Self::String => "string",
        };
        formatter.write_str(name)
    }
}
