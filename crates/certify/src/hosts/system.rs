//! The hosts of a system, and what lies between them.

use millstream_board::Board;
use millstream_cost::CostTable;
use millstream_schedule::{input_bytes, output_bytes};

use super::ways::CrossingTimes;
use crate::network::NetworkBlocks;
use crate::single::{has_too_many_states, steps};
use crate::space::Space;
use crate::stage_rates::StageRates;

/// More hosts have too many sets of them.
const MOST_HOSTS: usize = 8;
/// More states times ranges of blocks than this, for all sets of hosts together, are not followed.
const MOST_STEPS: usize = 100_000_000;

/// A host with what is needed to time its stages.
pub(super) struct HostStages<'a> {
    pub(super) rates: StageRates<'a>,
    pub(super) space: Space,
    /// What it pays to take in a frame from outside.
    pub(super) frame_nanoseconds: u64,
    /// What it pays to give out a frame's results.
    pub(super) results_nanoseconds: u64,
}

/// What is needed to time every stage on every host.
pub(super) struct SystemStages<'a> {
    hosts: Vec<HostStages<'a>>,
    /// Row per host that sends; `None` where there is no link.
    crossings: Vec<Option<CrossingTimes>>,
    blocks: usize,
}

/// Why pipelines can't be followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unfollowable {
    /// The table lacks a processor of the board.
    OtherSystem,
    /// There are too many of them.
    TooMany,
}

impl<'a> SystemStages<'a> {
    /// Of the hosts of a table, but for those that are left out.
    pub(super) fn of(
        network: NetworkBlocks<'_>,
        board: &Board,
        table: &'a CostTable,
        without: &[String],
    ) -> Result<Self, Unfollowable> {
        let names: Vec<&str> =
            table.hosts().into_iter().filter(|host| !without.iter().any(|out| out == host)).collect();
        let rates = names.iter().map(|name| StageRates::of_host(network, board, table, name));
        let rates: Vec<StageRates<'a>> = rates.collect::<Option<_>>().ok_or(Unfollowable::OtherSystem)?;
        if !are_few(&rates) {
            return Err(Unfollowable::TooMany);
        }

        let (frame, results) = (input_bytes(network.graph), output_bytes(network.graph));
        let host = |(rates, name): (StageRates<'a>, &&str)| HostStages {
            space: Space::of(&rates),
            rates,
            frame_nanoseconds: table.frame_cost(name, frame).0,
            results_nanoseconds: table.frame_cost(name, results).0,
        };
        let pairs = names.iter().flat_map(|from| names.iter().map(move |to| (*from, *to)));
        let crossing = |(from, to): (&str, &str)| CrossingTimes::of(table.crossing(from, to)?, network, table);
        Ok(Self {
            hosts: rates.into_iter().zip(&names).map(host).collect(),
            crossings: pairs.map(crossing).collect(),
            blocks: network.chain.blocks().len(),
        })
    }

    pub(super) fn blocks(&self) -> usize {
        self.blocks
    }

    pub(super) fn host(&self, place: usize) -> &HostStages<'a> {
        &self.hosts[place]
    }

    /// The places of all hosts.
    pub(super) fn places(&self) -> std::ops::Range<usize> {
        0..self.hosts.len()
    }

    /// The way from one host to another, if there is a link.
    pub(super) fn crossing(&self, from: usize, to: usize) -> Option<&CrossingTimes> {
        self.crossings[from * self.hosts.len() + to].as_ref()
    }
}

/// Whether there are so few pipelines over hosts that all can be followed.
fn are_few(hosts: &[StageRates<'_>]) -> bool {
    if hosts.len() > MOST_HOSTS || hosts.iter().any(has_too_many_states) {
        return false;
    }
    let steps_of_hosts = hosts.iter().map(steps).fold(0, usize::saturating_add);
    // Each host is visited once for each set of others.
    steps_of_hosts.saturating_mul((1 << hosts.len()) / 2) <= MOST_STEPS
}
