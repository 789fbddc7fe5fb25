//! What a schedule is chosen for: throughput, latency, both, or energy.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Objectives that schedules are chosen for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Objective {
    /// The highest throughput, or up to 1 % less where that lowers the latency ten times as much: neither predictions
    /// nor trials are so exact that the last percent of throughput would be worth any latency.
    Throughput,
    /// The lowest latency.
    Latency,
    /// The lowest product of period and latency.
    Balanced,
    /// The lowest energy of a frame.
    Energy,
}

impl fmt::Display for Objective {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for Objective {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|objective| objective.name() == text)
            .ok_or_else(|| format!("'{text}' is no objective; choose throughput, latency, balanced or energy"))
    }
}

impl Objective {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Throughput, Self::Latency, Self::Balanced, Self::Energy];

    /// As files, flags and messages have it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Throughput => "throughput",
            Self::Latency => "latency",
            Self::Balanced => "balanced",
            Self::Energy => "energy",
        }
    }
}
