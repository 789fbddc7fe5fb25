//! Operators that an engine does not run.

use millstream_board::{EngineName, ProcessorClass};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Operators that an engine does not run on a cluster, or can't be given without one that it does not run: other processors
/// run their blocks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UnsupportedOperators {
    /// Label of the cluster.
    pub cluster: String,
    /// The engine.
    pub engine: EngineName,
    /// The operators, as operator samples count them.
    pub operators: Vec<usize>,
}

impl UnsupportedOperators {
    /// Whether a processor has that engine on that cluster.
    pub fn concerns(&self, class: &ProcessorClass) -> bool {
        self.cluster == class.cluster && self.engine == class.engine
    }
}
