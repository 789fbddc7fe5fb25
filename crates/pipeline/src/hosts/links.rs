//! What lies between hosts, as far as it matters to a search.

use millstream_board::System;
use millstream_cost::{CostTable, HostCrossing};
use millstream_schedule::Crossing;

use crate::hosts::ranges::Times;

/// The ways between all pairs of hosts.
#[derive(Debug, Clone)]
pub(super) struct Links {
    hosts: usize,
    /// Row per sending host.
    ways: Vec<Option<HostWay>>,
}

/// The way from one host to another.
#[derive(Debug, Clone)]
pub(super) struct HostWay {
    /// What sending and receiving a byte costs.
    pub(super) sending: Rate,
    pub(super) receiving: Rate,
    /// For how long a frame occupies it.
    pub(super) occupied: Times,
    /// From when the sender is done until the receiver can begin.
    pub(super) time: Times,
    /// What the sending stage pays.
    pub(super) sending_times: Times,
    /// What the receiving stage pays.
    pub(super) receiving_times: Times,
}

/// Seconds for a byte; two are the same if all their bits are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rate(u64);

impl Links {
    /// `bytes` are those that are needed after each number of blocks.
    pub(super) fn new(system: &System, table: &CostTable, bytes: &[u64]) -> Self {
        let names: Vec<&str> = system.hosts().iter().map(|host| host.id.as_str()).collect();
        let pairs = names.iter().flat_map(|from| names.iter().map(move |to| (*from, *to)));
        let ways = pairs.map(|(from, to)| Some(HostWay::new(table.crossing(from, to)?, bytes))).collect();
        Self { hosts: names.len(), ways }
    }

    /// The way from one host to another; `None` if there is no link between them.
    pub(super) fn way(&self, from: usize, to: usize) -> Option<&HostWay> {
        self.ways[from * self.hosts + to].as_ref()
    }

    /// The ways to a host.
    pub(super) fn to(&self, host: usize) -> impl Iterator<Item = &HostWay> {
        (0..self.hosts).filter_map(move |from| self.way(from, host))
    }

    /// The ways from a host.
    pub(super) fn from(&self, host: usize) -> impl Iterator<Item = &HostWay> {
        (0..self.hosts).filter_map(move |to| self.way(host, to))
    }
}

impl HostWay {
    fn new(way: &HostCrossing, bytes: &[u64]) -> Self {
        let crossings: Vec<Crossing> = bytes.iter().map(|&bytes| Crossing::of(way, bytes)).collect();
        Self {
            sending: Rate(way.sending_seconds_per_byte.to_bits()),
            receiving: Rate(way.receiving_seconds_per_byte.to_bits()),
            occupied: crossings.iter().map(|own| own.occupied).collect(),
            time: crossings.iter().map(Crossing::time).collect(),
            sending_times: crossings.iter().map(|own| own.sending).collect(),
            receiving_times: crossings.iter().map(|own| own.receiving).collect(),
        }
    }
}
