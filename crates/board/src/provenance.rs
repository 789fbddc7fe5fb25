//! The version and the time that files carry as their origin.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where a file comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// Version of Millstream that wrote it.
    pub tool_version: String,
    /// When, in RFC 3339.
    pub created: String,
}
