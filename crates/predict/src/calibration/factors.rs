//! How much longer a network takes than its operators.

use millstream_board::ProcessorClass;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How much longer or shorter than by the models a measured network takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NetworkFactor {
    /// Name of the network.
    pub model: String,
    /// Digest of its model.
    pub digest: String,
    /// The processor.
    pub processor: ProcessorClass,
    /// Times of all its operators are multiplied by this.
    pub factor: f64,
}
