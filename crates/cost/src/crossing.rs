//! Transfers from host to host.

use millstream_board::{Duplex, System};

use crate::Nanoseconds;

/// What a frame's values take from one host to another, in this direction.
#[derive(Debug, Clone, PartialEq)]
pub struct HostCrossing {
    /// The host that sends.
    pub from: String,
    /// The host that receives.
    pub to: String,
    /// The link's name, such as `rk-pi`.
    pub link: String,
    /// What carries one frame at a time: both directions of a half-duplex link have the same number, and nothing else has.
    pub channel: usize,
    /// From when the last byte is sent until it is there.
    pub latency_seconds: f64,
    /// For how long a byte occupies the channel.
    pub seconds_per_byte: f64,
    /// What the sending stage pays for a byte.
    pub sending_seconds_per_byte: f64,
    /// What the receiving stage pays for a byte.
    pub receiving_seconds_per_byte: f64,
}

impl HostCrossing {
    /// All crossings of a system: two for each of its links.
    pub fn all(system: &System) -> Vec<Self> {
        let mut crossings = Vec::new();
        for (index, link) in system.links().iter().enumerate() {
            let name = link.name();
            for (from, to) in [(0, 1), (1, 0)] {
                let way = if link.duplex == Duplex::Full { from } else { 0 };
                crossings.push(Self {
                    from: link.hosts[from].clone(),
                    to: link.hosts[to].clone(),
                    link: name.clone(),
                    channel: 2 * index + way,
                    latency_seconds: link.latency_seconds,
                    seconds_per_byte: 1.0 / link.bytes_per_second,
                    sending_seconds_per_byte: link.cpu_seconds_per_byte[from],
                    receiving_seconds_per_byte: link.cpu_seconds_per_byte[to],
                });
            }
        }
        crossings
    }

    /// For how long so many bytes occupy the channel.
    pub fn occupied(&self, bytes: u64) -> Nanoseconds {
        times(self.seconds_per_byte, bytes)
    }

    /// From when the last byte is sent until it is there.
    pub fn latency(&self) -> Nanoseconds {
        times(self.latency_seconds, 1)
    }

    /// What so many bytes cost the sending stage.
    pub fn sending(&self, bytes: u64) -> Nanoseconds {
        times(self.sending_seconds_per_byte, bytes)
    }

    /// What so many bytes cost the receiving stage.
    pub fn receiving(&self, bytes: u64) -> Nanoseconds {
        times(self.receiving_seconds_per_byte, bytes)
    }
}

/// So many times a time, of which a day is the most: sums of days are numbers.
pub(crate) fn times(seconds: f64, count: u64) -> Nanoseconds {
    Nanoseconds::from_seconds((seconds * count as f64).min(86_400.0))
}
