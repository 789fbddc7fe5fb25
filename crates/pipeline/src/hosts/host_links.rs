//! What lies between hosts, as far as it matters to a search.

use millstream_board::{System, TransferPrecision};
use millstream_cost::{CostTable, HandOver, HostCrossing, Nanoseconds};
use millstream_partition::BlockId;
use millstream_schedule::Crossing;

use super::place::HostPlace;

/// The links between all pairs of hosts.
#[derive(Debug, Clone)]
pub(super) struct Links {
    host_count: usize,
    /// Row per sending host.
    links: Vec<Option<HostLinkTimes>>,
}

/// What the link from one host to another takes, in this direction.
#[derive(Debug, Clone)]
pub(super) struct HostLinkTimes {
    /// What sending and receiving costs.
    pub(super) sending: Rate,
    pub(super) receiving: Rate,
    /// What a frame takes that goes over it after each number of blocks.
    frames: Vec<FrameTimes>,
}

/// What a frame takes from one host to another.
#[derive(Debug, Clone, Copy)]
pub(super) struct FrameTimes {
    /// For how long it occupies the link.
    pub(super) occupied: Nanoseconds,
    /// From when the sender is done until the receiver can begin.
    pub(super) time: Nanoseconds,
    /// What the sending stage pays.
    pub(super) sending: Nanoseconds,
    /// What the receiving stage pays.
    pub(super) receiving: Nanoseconds,
}

/// What an end of a link pays for values. Two are the same if any value costs the same by them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rate {
    /// The bits of the seconds for a frame, and for a byte that is sent.
    seconds: [u64; 2],
    /// What decides how many bytes of a value are sent.
    precision: TransferPrecision,
}

impl Links {
    /// `bytes` are those that are needed after each number of blocks, as they are sent.
    pub(super) fn new(system: &System, table: &CostTable, bytes: impl Fn(TransferPrecision) -> Vec<u64>) -> Self {
        let names: Vec<&str> = system.hosts().iter().map(|host| host.id.as_str()).collect();
        let pairs = names.iter().flat_map(|from| names.iter().map(move |to| (*from, *to)));
        let times = |crossing: &HostCrossing| HostLinkTimes::new(crossing, &bytes(crossing.precision));
        let links = pairs.map(|(from, to)| table.crossing(from, to).map(times)).collect();
        Self { host_count: names.len(), links }
    }

    /// The link from one host to another; `None` if there is none.
    pub(super) fn between(&self, from: HostPlace, to: HostPlace) -> Option<&HostLinkTimes> {
        self.links[from.index() * self.host_count + to.index()].as_ref()
    }

    /// The links to a host.
    pub(super) fn to(&self, host: HostPlace) -> impl Iterator<Item = &HostLinkTimes> {
        HostPlace::all(self.host_count).filter_map(move |from| self.between(from, host))
    }

    /// The links from a host.
    pub(super) fn from(&self, host: HostPlace) -> impl Iterator<Item = &HostLinkTimes> {
        HostPlace::all(self.host_count).filter_map(move |to| self.between(host, to))
    }
}

impl HostLinkTimes {
    fn new(crossing: &HostCrossing, bytes: &[u64]) -> Self {
        let rate = |HandOver { seconds, seconds_per_byte }: HandOver| Rate {
            seconds: [seconds, seconds_per_byte].map(f64::to_bits),
            precision: crossing.precision,
        };
        Self {
            sending: rate(crossing.sending),
            receiving: rate(crossing.receiving),
            frames: bytes.iter().map(|&bytes| FrameTimes::of(crossing, bytes)).collect(),
        }
    }

    /// What a frame takes that goes over it when the blocks before this one are done.
    #[inline]
    pub(super) fn frame_after(&self, done: BlockId) -> &FrameTimes {
        &self.frames[done.index()]
    }

    /// One of the times of frames, after each number of blocks.
    pub(super) fn times(&self, time: impl Fn(&FrameTimes) -> Nanoseconds) -> Vec<Nanoseconds> {
        self.frames.iter().map(time).collect()
    }
}

impl FrameTimes {
    fn of(crossing: &HostCrossing, bytes: u64) -> Self {
        let crossing = Crossing::of(crossing, bytes);
        let (occupied, time) = (crossing.occupied, crossing.time());
        Self { occupied, time, sending: crossing.sending, receiving: crossing.receiving }
    }
}
