//! What it takes to hand values from one processor to another.

pub use millstream_board::BlockedEnd;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What moving a value from one processor to another takes.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TransferModel {
    /// Once per value.
    pub latency_seconds: f64,
    /// Per byte moved; the inverse of the bandwidth.
    pub seconds_per_byte: f64,
    /// Per byte brought into the layout that the receiver wants.
    pub conversion_seconds_per_byte: f64,
    /// The processor that the transfer occupies; missing if it goes on beside computation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<BlockedEnd>,
}

impl TransferModel {
    /// Time for a value of this size.
    pub fn seconds(&self, bytes: u64) -> f64 {
        self.latency_seconds + (self.seconds_per_byte + self.conversion_seconds_per_byte) * bytes as f64
    }
}
