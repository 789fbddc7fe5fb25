//! Identities of cores.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The number that the operating system gives a logical CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct CoreId(pub u32);

impl fmt::Display for CoreId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}
