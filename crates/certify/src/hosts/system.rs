//! The hosts of a system, and what lies between them.

use std::ops::Range;

use millstream_board::{Board, host_of};
use millstream_cost::{CostTable, HostCrossing};
use millstream_schedule::{input_bytes, output_bytes};

use super::link_times::LinkTimes;
use crate::network::NetworkBlocks;
use crate::single::{has_too_many_states, states};
use crate::space::Space;
use crate::stage_rates::StageRates;

/// More hosts have too many sets of them. The search for pipelines goes through no more either.
const MOST_HOSTS: usize = 8;
/// More stages to be timed than this, on all hosts together and with each way to enter and to leave them, are not
/// followed.
const MOST_STAGES: usize = 200_000_000;
/// Nor are more states, for all sets of hosts together.
const MOST_STATES: usize = 50_000_000;

/// A host with what is needed to time its stages.
pub(super) struct HostStages<'a> {
    pub(super) rates: StageRates<'a>,
    pub(super) space: Space,
    /// What it pays to take in a frame from outside.
    pub(super) frame_nanoseconds: u64,
    /// What it pays to give out a frame's results.
    pub(super) results_nanoseconds: u64,
    /// For how long a frame occupies the way from outside.
    pub(super) frame_occupies_nanoseconds: u64,
    /// And results the way to outside.
    pub(super) results_occupy_nanoseconds: u64,
}

/// What is needed to time every stage on every host.
pub(super) struct SystemStages<'a> {
    hosts: Vec<HostStages<'a>>,
    /// Row per host that sends; `None` where there is no link.
    links: Vec<Option<LinkTimes>>,
    blocks: usize,
}

/// Why pipelines can't be followed.
pub(super) enum Unfollowable {
    /// A host that is to be left out is none of the system.
    UnknownHost(String),
    /// The table lacks a processor of the board, or the board is no system.
    OtherSystem,
    /// There are too many of them.
    TooMany,
}

impl<'a> SystemStages<'a> {
    /// What is known of all hosts of a board, but for those that are left out.
    pub(super) fn of(
        network: NetworkBlocks<'_>,
        board: &'a Board,
        table: &'a CostTable,
        without: &[String],
    ) -> Result<Self, Unfollowable> {
        let all = hosts_of(board).ok_or(Unfollowable::OtherSystem)?;
        if let Some(unknown) = without.iter().find(|host| !all.contains(&host.as_str())) {
            return Err(Unfollowable::UnknownHost(unknown.clone()));
        }
        let names: Vec<&str> = all.into_iter().filter(|host| !without.iter().any(|out| out == host)).collect();
        if names.len() > MOST_HOSTS {
            return Err(Unfollowable::TooMany);
        }
        let rates = names.iter().map(|name| StageRates::of_host(network, board, table, name));
        let rates: Vec<StageRates<'a>> = rates.collect::<Option<_>>().ok_or(Unfollowable::OtherSystem)?;
        if !are_few(&rates) {
            return Err(Unfollowable::TooMany);
        }

        let mut links = Vec::with_capacity(names.len() * names.len());
        for (from, rates) in names.iter().zip(&rates) {
            let sender = rates.units.first().map(|unit| unit.first_class()).ok_or(Unfollowable::OtherSystem)?;
            let link = |to: &&str| Some(LinkTimes::of(table.crossing(from, to)?, sender, network));
            links.extend(names.iter().map(link));
        }
        let (frame, results) = (input_bytes(network.graph), output_bytes(network.graph));
        let outside = HostCrossing::OUTSIDE;
        let occupied = |way: Option<&HostCrossing>, bytes: u64| way.map_or(0, |way| way.occupied(bytes).0);
        let host = |(rates, name): (StageRates<'a>, &&str)| HostStages {
            space: Space::of(&rates),
            rates,
            frame_nanoseconds: table.frame_cost(name, frame).0,
            results_nanoseconds: table.frame_cost(name, results).0,
            frame_occupies_nanoseconds: occupied(table.crossing(outside, name), frame),
            results_occupy_nanoseconds: occupied(table.crossing(name, outside), results),
        };
        let hosts = rates.into_iter().zip(&names).map(host).collect();
        Ok(Self { hosts, links, blocks: network.chain.blocks().len() })
    }

    pub(super) fn blocks(&self) -> usize {
        self.blocks
    }

    pub(super) fn host(&self, place: usize) -> &HostStages<'a> {
        &self.hosts[place]
    }

    /// The places of all hosts.
    pub(super) fn places(&self) -> Range<usize> {
        0..self.hosts.len()
    }

    /// The way from one host to another, if there is a link.
    pub(super) fn link(&self, from: usize, to: usize) -> Option<&LinkTimes> {
        self.links[from * self.hosts.len() + to].as_ref()
    }
}

/// The hosts of a board, each once; `None` if some of it is of no host.
fn hosts_of(board: &Board) -> Option<Vec<&str>> {
    let clusters = board.clusters().iter().map(|cluster| &cluster.label);
    let labels = clusters.chain(board.accelerators().iter().map(|accelerator| &accelerator.label));
    let mut hosts = Vec::new();
    for label in labels {
        let host = host_of(label)?;
        if !hosts.contains(&host) {
            hosts.push(host);
        }
    }
    Some(hosts)
}

/// Whether there are so few pipelines over hosts that all can be followed.
fn are_few(hosts: &[StageRates<'_>]) -> bool {
    if hosts.iter().any(has_too_many_states) {
        return false;
    }
    let states_of_hosts = hosts.iter().map(|rates| states(rates).saturating_mul(rates.blocks));
    let all_states = states_of_hosts.fold(0, usize::saturating_add);
    let blocks = hosts.first().map_or(0, |rates| rates.blocks);
    // From outside, from and to each other host, and within.
    let ways = (hosts.len() + 1) * hosts.len();
    // Each host is visited once for each set of others.
    let visits = (1 << hosts.len()) / 2;
    all_states.saturating_mul(blocks * ways) <= MOST_STAGES && all_states.saturating_mul(visits) <= MOST_STATES
}
