//! What frames cost where they enter a system, and results where they leave it.

use millstream_board::System;

use crate::crossing::times;
use crate::nanoseconds::Nanoseconds;
use crate::table::CostTable;

/// What a host pays for frames that it takes in from outside the system, and for results that it gives out.
#[derive(Debug, Clone, PartialEq)]
pub struct FrameCost {
    /// The host.
    pub host: String,
    /// What its first or last stage pays for a byte.
    pub seconds_per_byte: f64,
}

impl FrameCost {
    /// Those of all hosts of a system.
    pub fn all(system: &System) -> Vec<Self> {
        let hosts = system.hosts().iter();
        hosts.map(|host| Self { host: host.id.clone(), seconds_per_byte: host.cpu_seconds_per_frame_byte }).collect()
    }
}

impl CostTable {
    /// The same where frames come from outside and results go there at these costs; hosts that are not named pay
    /// nothing.
    #[must_use]
    pub fn with_frame_costs(mut self, costs: Vec<FrameCost>) -> Self {
        self.frame_costs = costs;
        self
    }

    /// What a host pays for so many bytes of frames or results.
    pub fn frame_cost(&self, host: &str, bytes: u64) -> Nanoseconds {
        let cost = self.frame_costs.iter().find(|cost| cost.host == host);
        cost.map_or(Nanoseconds::ZERO, |cost| times(cost.seconds_per_byte, bytes))
    }
}
