//! What frames cost where they enter a system, and results where they leave it.

use millstream_board::{Host, System};

use crate::hand_over::HandOver;

/// What a host pays for frames that it takes in from outside the system, and for results that it gives out.
#[derive(Debug, Clone, PartialEq)]
pub struct FrameCost {
    /// The host.
    pub host: String,
    /// What its first stage pays for a frame, and its last stage for results.
    pub cost: HandOver,
}

impl FrameCost {
    /// Those of all hosts of a system.
    pub fn all(system: &System) -> Vec<Self> {
        let cost = |host: &Host| HandOver {
            seconds: host.cpu_seconds_per_frame,
            seconds_per_byte: host.cpu_seconds_per_frame_byte,
        };
        system.hosts().iter().map(|host| Self { host: host.id.clone(), cost: cost(host) }).collect()
    }
}
