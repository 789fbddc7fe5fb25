//! What processors draw, busy and idle.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where the power of a processor comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PowerOrigin {
    /// Fitted to measured power.
    Measured,
    /// As the board file says.
    BoardFile,
    /// From what others measured on such a board while it worked. What it draws when idle is not known and counts as
    /// nothing.
    #[serde(alias = "published")]
    PublishedAtWork,
}

/// Power of a processor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProcessorPower {
    /// While it works.
    pub active_watts: f64,
    /// While it waits.
    pub idle_watts: f64,
    /// Where this comes from.
    pub origin: PowerOrigin,
}
