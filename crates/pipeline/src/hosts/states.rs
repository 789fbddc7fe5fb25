//! States of the search over several hosts, how they are reached, and tables of what is known of them.

use std::ops::{Index, IndexMut};

use millstream_partition::BlockId;

use super::SystemProblem;
use super::host_set::HostSet;
use super::place::HostPlace;
use super::variant_table::{EntryKind, ExitKind};
use crate::board::cores::Cores;
use crate::board::senders::Senders;
use crate::front::latency_period::LatencyPeriod;

/// The hosts that have been used, and where the frame is: a state's place among those after as many blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StateId(usize);

/// A state: the blocks before this one are done, and the hosts are as the other number says.
pub(super) type State = (BlockId, StateId);

/// How a state is reached best.
#[derive(Clone, Copy)]
pub(super) struct LastStage {
    /// The state before the stage; `None` for the start.
    pub(super) before: Option<State>,
    /// The first block of the stage.
    pub(super) start: BlockId,
    pub(super) host: HostPlace,
    pub(super) entry: EntryKind,
    pub(super) exit: ExitKind,
    pub(super) senders: Senders,
    /// Which of its options it is.
    pub(super) option: usize,
}

impl LastStage {
    pub(super) const NONE: Self = Self {
        before: None,
        start: BlockId::new(0),
        host: HostPlace::new(0),
        entry: EntryKind::SAME_HOST,
        exit: ExitKind::SAME_HOST,
        senders: Senders::NETWORK,
        option: 0,
    };
}

/// From where a stage can begin.
pub(super) struct Origin {
    /// As [`LastStage::before`].
    pub(super) before: Option<State>,
    pub(super) start: BlockId,
    pub(super) host: HostPlace,
    /// Hosts in use, this one among them.
    pub(super) in_use: HostSet,
    pub(super) entry: EntryKind,
    pub(super) senders: Senders,
    /// Cores of the host that earlier stages on it use.
    pub(super) used: Cores,
    /// The least of what comes before.
    pub(super) value: LatencyPeriod,
}

impl Origin {
    /// The start of the network, on a host, to which a frame has come from outside.
    pub(super) fn of_network(host: HostPlace, value: LatencyPeriod) -> Self {
        Self {
            before: None,
            start: BlockId::new(0),
            host,
            in_use: HostSet::only(host),
            entry: EntryKind::SAME_HOST,
            senders: Senders::NETWORK,
            used: Cores::NONE,
            value,
        }
    }
}

/// All states after as many blocks.
pub(super) struct States {
    hosts: Vec<StatesOfHost>,
    /// Row per set of hosts, with an entry per host: the first state inside the host, if it is in the set, or before
    /// it.
    firsts: Vec<StateId>,
    /// How many states there are.
    count: usize,
}

/// How many states a host has with every set of hosts.
#[derive(Debug, Clone, Copy)]
struct StatesOfHost {
    /// Kinds of links that lead to it: with each of them, there is a state before it.
    link_kinds: usize,
    /// Sets of senders, and numbers of cores: with each of both, there is a state inside it.
    senders: usize,
    sizes: usize,
}

impl States {
    /// Those of a problem.
    pub(super) fn of(problem: &SystemProblem) -> Self {
        let of_host = |host: HostPlace| {
            let (host, within) = (problem.host(host), problem.host(host).within());
            StatesOfHost {
                link_kinds: host.entries_by_link().count(),
                senders: within.all_senders().count(),
                sizes: within.counts().len(),
            }
        };
        Self::new(problem.places().map(of_host).collect())
    }

    fn new(hosts: Vec<StatesOfHost>) -> Self {
        let (mut firsts, mut count) = (Vec::new(), 0);
        for in_use in HostSet::all(hosts.len()) {
            for (host, states) in HostPlace::all(hosts.len()).zip(&hosts) {
                firsts.push(StateId(count));
                count += if in_use.contains(host) { states.senders * states.sizes } else { states.link_kinds };
            }
        }
        Self { hosts, firsts, count }
    }

    /// All of them.
    pub(super) fn all(&self) -> impl Iterator<Item = StateId> + use<> {
        (0..self.count).map(StateId)
    }

    /// Inside a host, which is in use, with so many of its cores: the next stage there takes frames from these senders.
    #[inline]
    pub(super) fn inside(&self, in_use: HostSet, host: HostPlace, senders: Senders, used: Cores) -> StateId {
        let sizes = self.hosts[host.index()].sizes;
        StateId(self.first(in_use, host).0 + senders.index() * sizes + used.index())
    }

    /// Before a host, which is not in use yet and is entered by a link.
    #[inline]
    pub(super) fn before(&self, in_use: HostSet, host: HostPlace, entry: EntryKind) -> StateId {
        StateId(self.first(in_use, host).0 + entry.link_kind())
    }

    #[inline]
    fn first(&self, in_use: HostSet, host: HostPlace) -> StateId {
        self.firsts[in_use.index() * self.hosts.len() + host.index()]
    }
}

/// A value for every number of blocks and every state after them.
pub(super) struct StateTable<T> {
    /// Row per number of blocks.
    values: Vec<T>,
    /// How many states there are after as many blocks.
    count: usize,
}

impl<T: Clone> StateTable<T> {
    /// The same value everywhere, for a chain of so many blocks.
    pub(super) fn filled(states: &States, blocks: usize, value: T) -> Self {
        Self { values: vec![value; (blocks + 1) * states.count], count: states.count }
    }

    /// Gives all the same value.
    pub(super) fn fill(&mut self, value: T) {
        self.values.fill(value);
    }
}

impl<T> Index<State> for StateTable<T> {
    type Output = T;

    #[inline]
    fn index(&self, (done, state): State) -> &T {
        &self.values[done.index() * self.count + state.0]
    }
}

impl<T> IndexMut<State> for StateTable<T> {
    #[inline]
    fn index_mut(&mut self, (done, state): State) -> &mut T {
        &mut self.values[done.index() * self.count + state.0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_has_a_value_of_its_own() {
        let hosts = vec![
            StatesOfHost { link_kinds: 2, senders: 3, sizes: 4 },
            StatesOfHost { link_kinds: 1, senders: 1, sizes: 2 },
            StatesOfHost { link_kinds: 0, senders: 2, sizes: 5 },
        ];
        let states = States::new(hosts.clone());

        let mut ids = Vec::new();
        for in_use in HostSet::all(hosts.len()) {
            for (host, counts) in HostPlace::all(hosts.len()).zip(&hosts) {
                if in_use.contains(host) {
                    let of_senders = |senders| (0..counts.sizes).map(move |used| (senders, Cores::at(used)));
                    let inside = Senders::all(counts.senders).flat_map(of_senders);
                    ids.extend(inside.map(|(senders, used)| states.inside(in_use, host, senders, used)));
                } else {
                    let entries = (0..counts.link_kinds).map(EntryKind::by_link);
                    ids.extend(entries.map(|entry| states.before(in_use, host, entry)));
                }
            }
        }
        assert_eq!(ids, states.all().collect::<Vec<_>>());

        let mut table = StateTable::filled(&states, 2, 0);
        let all = || (0..=2).flat_map(|done| states.all().map(move |state| (BlockId::new(done), state)));
        all().enumerate().for_each(|(number, state)| table[state] = number);
        assert!(all().enumerate().all(|(number, state)| table[state] == number));
    }
}
