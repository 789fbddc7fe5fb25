//! What values are sent as between hosts.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What 32-bit floats are sent as between hosts. Values of other types go as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TransferPrecision {
    /// 32-bit floats, so that results are those of one board.
    #[default]
    F32,
    /// 16-bit floats: 11 significant bits.
    F16,
    /// Integers of 8 bits between the least and the greatest element of each value, zero included.
    Int8,
}

impl TransferPrecision {
    /// How many bytes an element takes that has 32 bits otherwise.
    pub fn bytes_per_float(self) -> u64 {
        match self {
            Self::F32 => 4,
            Self::F16 => 2,
            Self::Int8 => 1,
        }
    }

    /// Whether everything is sent as it is.
    pub fn is_full(&self) -> bool {
        *self == Self::F32
    }
}

impl fmt::Display for TransferPrecision {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::Int8 => "int8",
        })
    }
}
