//! Transfers from host to host.

use millstream_board::{Duplex, System, TransferPrecision};

use crate::hand_over::{HandOver, within_a_day};
use crate::nanoseconds::Nanoseconds;

/// What carries one frame at a time on a link between hosts, or between one and outside: a direction of it, or all of a
/// half-duplex link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LaneId(usize);

impl LaneId {
    /// The lane of this number, which nothing else has that carries frames.
    pub const fn new(number: usize) -> Self {
        Self(number)
    }
}

/// What a frame's values take from one host to another, in this direction.
#[derive(Debug, Clone, PartialEq)]
pub struct HostCrossing {
    /// The host that sends, or [`HostCrossing::OUTSIDE`].
    pub from: String,
    /// The host that receives, or [`HostCrossing::OUTSIDE`].
    pub to: String,
    /// The link's name, such as `rk-pi`.
    pub link: String,
    /// What carries it; the same for both directions of a half-duplex link.
    pub lane: LaneId,
    /// From when the last byte is sent until it is there.
    pub latency_seconds: f64,
    /// For how long a byte occupies the lane.
    pub seconds_per_byte: f64,
    /// What the sending stage pays.
    pub sending: HandOver,
    /// What the receiving stage pays.
    pub receiving: HandOver,
    /// What 32-bit floats are sent as.
    pub precision: TransferPrecision,
}

impl HostCrossing {
    /// Where frames come from that enter a system, and where results go, in place of a host's name. No host has it.
    pub const OUTSIDE: &str = "(outside)";

    /// All crossings of a system: two for each of its links, and two for each host on whose way from and to
    /// [outside](Self::OUTSIDE) frames take time. What frames cost processors there is apart
    /// ([`FrameCost`](crate::FrameCost)).
    pub fn all(system: &System) -> Vec<Self> {
        let mut crossings = Self::between_hosts(system);
        let first_lane = 2 * system.links().len();
        let free = HandOver { seconds: 0.0, seconds_per_byte: 0.0 };
        for (index, host) in system.hosts().iter().enumerate() {
            if host.frame_bytes_per_second.is_none() && host.frame_latency_seconds == 0.0 {
                continue;
            }
            let [outside, inside] = [Self::OUTSIDE, &host.id].map(str::to_owned);
            for (way, from, to) in [(0, &outside, &inside), (1, &inside, &outside)] {
                crossings.push(Self {
                    from: from.clone(),
                    to: to.clone(),
                    link: format!("outside-{}", host.id),
                    lane: LaneId(first_lane + 2 * index + way),
                    latency_seconds: host.frame_latency_seconds,
                    seconds_per_byte: host.frame_bytes_per_second.map_or(0.0, |bandwidth| 1.0 / bandwidth),
                    sending: free,
                    receiving: free,
                    precision: TransferPrecision::F32,
                });
            }
        }
        crossings
    }

    fn between_hosts(system: &System) -> Vec<Self> {
        let mut crossings = Vec::new();
        for (index, link) in system.links().iter().enumerate() {
            let name = link.name();
            let pays = |end: usize, per_byte: [f64; 2]| HandOver {
                seconds: link.cpu_seconds_per_message[end],
                seconds_per_byte: per_byte[end],
            };
            for (from, to) in [(0, 1), (1, 0)] {
                let way = if link.duplex == Duplex::Full { from } else { 0 };
                crossings.push(Self {
                    from: link.hosts[from].clone(),
                    to: link.hosts[to].clone(),
                    link: name.clone(),
                    lane: LaneId(2 * index + way),
                    latency_seconds: link.latency_seconds,
                    seconds_per_byte: 1.0 / link.bytes_per_second,
                    sending: pays(from, link.cpu_seconds_per_sent_byte),
                    receiving: pays(to, link.cpu_seconds_per_byte),
                    precision: link.precision,
                });
            }
        }
        crossings
    }

    /// For how long so many bytes occupy the lane.
    pub fn occupied(&self, bytes: u64) -> Nanoseconds {
        times(self.seconds_per_byte, bytes)
    }

    /// From when the last byte is sent until it is there.
    pub fn latency(&self) -> Nanoseconds {
        times(self.latency_seconds, 1)
    }

    /// What so many bytes cost the sending stage.
    pub fn sending(&self, bytes: u64) -> Nanoseconds {
        self.sending.time(bytes)
    }

    /// What so many bytes cost the receiving stage.
    pub fn receiving(&self, bytes: u64) -> Nanoseconds {
        self.receiving.time(bytes)
    }
}

/// So many times a time.
fn times(seconds: f64, count: u64) -> Nanoseconds {
    within_a_day(seconds * count as f64)
}
