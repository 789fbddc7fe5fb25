//! Every trade-off between period and latency over several hosts.
//!
//! The lowest latency under a bound on the period is found by dynamic programming over states: blocks that are done, the hosts that have
//! been used, and where the frame is. That is either inside a host, with cores of it in use and a last stage that hands over in some way,
//! or between two hosts, with none of the next one's cores in use. As the stages of a host follow each other, nothing has to be known of
//! the cores of hosts that were left. Lowering the bound after each answer walks along the front, as on one board.

use super::variants::{EntryKind, ExitKind};
use super::{HostDivision, SystemProblem};
use crate::Plan;
use crate::cores::Cores;
use crate::hosts::ranges::range;
use crate::senders::Senders;
use crate::stage_options::{BoundedOptions, StageOptions};
use crate::way::WayId;

/// A stage of a pipeline over several hosts.
pub(super) struct HostStage {
    pub(super) host: usize,
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) entry: EntryKind,
    pub(super) exit: ExitKind,
    pub(super) senders: Senders,
    pub(super) ways: Vec<WayId>,
}

pub(super) struct Search<'a> {
    problem: &'a SystemProblem,
    division: &'a HostDivision,
    /// Per host, and then as its variants.
    options: &'a [Vec<StageOptions>],
    bounded: Vec<Vec<BoundedOptions<'a>>>,
    places: Places,
    /// (latency, period) of the states after each number of blocks.
    best: Vec<(u64, u64)>,
    choice: Vec<LastStage>,
}

const UNREACHED: (u64, u64) = (u64::MAX, u64::MAX);

/// How a state is reached best.
#[derive(Clone, Copy)]
struct LastStage {
    /// Blocks that were done before, and the state then; nothing for the start.
    before: Option<(usize, usize)>,
    start: usize,
    host: usize,
    entry: EntryKind,
    exit: ExitKind,
    senders: Senders,
    /// Which of the options it is.
    option: usize,
}

/// From where a stage can begin.
struct Origin {
    /// As [`LastStage::before`].
    before: Option<(usize, usize)>,
    start: usize,
    host: usize,
    /// Hosts in use, this one among them.
    mask: usize,
    entry: EntryKind,
    senders: Senders,
    used: Cores,
    value: (u64, u64),
}

/// Where states are among those after as many blocks.
struct Places {
    hosts: usize,
    /// Per set of hosts and host of it: where states inside it begin.
    inside: Vec<usize>,
    /// Per set of hosts and host that is not in it: where states before it begin.
    before: Vec<usize>,
    count: usize,
}

impl Places {
    fn new(problem: &SystemProblem) -> Self {
        let hosts = problem.hosts.len();
        let mut places = Self { hosts, inside: Vec::new(), before: Vec::new(), count: 0 };
        for mask in 0..1_usize << hosts {
            for (place, host) in problem.hosts.iter().enumerate() {
                places.inside.push(places.count);
                places.before.push(places.count);
                let own = host.own();
                places.count += match mask >> place & 1 {
                    1 => own.all_senders().count() * own.counts.len(),
                    _ => host.entries() - 1,
                };
            }
        }
        places
    }
}

impl<'a> Search<'a> {
    /// The front, from the lowest latency on; empty if nothing can run every operator.
    pub(super) fn front(problem: &'a SystemProblem, division: &HostDivision) -> Vec<Plan> {
        let of_host = |host: &'a super::HostProblem| {
            let kinds = (0..host.entries()).flat_map(|entry| (0..host.exits()).map(move |exit| (entry, exit)));
            kinds.map(|(entry, exit)| StageOptions::by_time(host.variant(EntryKind(entry), ExitKind(exit)))).collect()
        };
        let options: Vec<Vec<StageOptions>> = problem.hosts.iter().map(of_host).collect();
        let places = Places::new(problem);
        let states = places.count * (problem.blocks + 1);
        let start = LastStage {
            before: None,
            start: 0,
            host: 0,
            entry: EntryKind::OWN,
            exit: ExitKind::OWN,
            senders: Senders::NETWORK,
            option: 0,
        };
        let mut search = Search {
            problem,
            division,
            bounded: options.iter().map(|own| own.iter().map(StageOptions::bounded).collect()).collect(),
            options: &options,
            places,
            best: vec![UNREACHED; states],
            choice: vec![start; states],
        };

        let mut front: Vec<Plan> = Vec::new();
        let mut bound = u64::MAX;
        while let Some(plan) = search.lowest_latency(bound) {
            if front.last().is_some_and(|last| last.latency == plan.latency) {
                front.pop();
            }
            let shorter = plan.period.0.checked_sub(1).filter(|shorter| *shorter < bound);
            front.push(plan);
            let Some(shorter) = shorter else { break };
            bound = shorter;
            search.bounded.iter_mut().flatten().for_each(|own| own.tighten(bound));
        }
        front
    }

    /// The plan with the lowest latency whose stages and links all have a period within the bound, and among equals the one with the shortest
    /// period.
    fn lowest_latency(&mut self, bound: u64) -> Option<Plan> {
        self.best.fill(UNREACHED);
        for host in 0..self.problem.hosts.len() {
            let (senders, used) = (Senders::NETWORK, Cores::NONE);
            let mask = 1 << host;
            let origin =
                Origin { before: None, start: 0, host, mask, entry: EntryKind::OWN, senders, used, value: (0, 0) };
            self.extend(&origin, bound);
        }
        for start in 1..self.problem.blocks {
            for mask in 1..1_usize << self.problem.hosts.len() {
                for host in 0..self.problem.hosts.len() {
                    self.extend_from(start, mask, host, bound);
                }
            }
        }

        let end = self.problem.blocks;
        let first = end * self.places.count;
        let states = 0..self.places.count;
        let last =
            states.min_by_key(|&state| self.best[first + state]).filter(|&at| self.best[first + at] != UNREACHED);
        let mut stages = Vec::new();
        let mut at = last.map(|state| (end, state));
        at?;
        while let Some((end, state)) = at {
            let own = self.choice[end * self.places.count + state];
            stages.push(self.stage(own, end));
            at = own.before;
        }
        stages.reverse();
        self.problem.plan(&stages)
    }

    fn stage(&self, own: LastStage, end: usize) -> HostStage {
        let LastStage { start, host, entry, exit, senders, option, .. } = own;
        let options = &self.options[host][self.variant(host, entry, exit)];
        let ways = options.replicas(options.option(option).replicas).to_vec();
        HostStage { host, start, end, entry, exit, senders, ways }
    }

    fn variant(&self, host: usize, entry: EntryKind, exit: ExitKind) -> usize {
        entry.0 * self.problem.hosts[host].exits() + exit.0
    }

    /// Goes on from all states after so many blocks with these hosts in use: inside a host that is one of them, or before one that is not.
    fn extend_from(&mut self, start: usize, mask: usize, host: usize, bound: u64) {
        let first = start * self.places.count;
        if mask >> host & 1 == 1 {
            if !self.division.has_pipelines() {
                return;
            }
            let own = self.problem.hosts[host].own();
            let (place, sizes) = (self.places.inside[mask * self.places.hosts + host], own.counts.len());
            for senders in own.all_senders() {
                for used in own.counts.all() {
                    let state = place + senders.index() * sizes + used.index();
                    let value = self.best[first + state];
                    if value != UNREACHED {
                        let (before, entry) = (Some((start, state)), EntryKind::OWN);
                        self.extend(&Origin { before, start, host, mask, entry, senders, used, value }, bound);
                    }
                }
            }
            return;
        }

        let place = self.places.before[mask * self.places.hosts + host];
        for kind in 1..self.problem.hosts[host].entries() {
            let state = place + kind - 1;
            let value = self.best[first + state];
            if value != UNREACHED {
                let (before, entry, senders) = (Some((start, state)), EntryKind(kind), Senders::NETWORK);
                let (mask, used) = (mask | 1 << host, Cores::NONE);
                self.extend(&Origin { before, start, host, mask, entry, senders, used, value }, bound);
            }
        }
    }

    /// Adds every stage that can follow.
    fn extend(&mut self, origin: &Origin, bound: u64) {
        let (problem, host) = (self.problem, origin.host);
        let own = problem.hosts[host].own();
        let free: Vec<Cores> =
            own.counts.with_room_for(origin.used).into_iter().filter(|own| *own != Cores::NONE).collect();
        let others: Vec<usize> = (0..problem.hosts.len()).filter(|other| origin.mask >> other & 1 == 0).collect();
        for end in origin.start + 1..=problem.blocks {
            if !self.division.allows(host, origin.start, end) {
                break;
            }
            for &cores in &free {
                self.stay(origin, end, cores);
            }
            if end == problem.blocks {
                break;
            }
            for &to in &others {
                let Some(way) = problem.links.way(host, to) else { continue };
                if way.occupied[end].0 > bound {
                    continue;
                }
                for &cores in &free {
                    self.leave(origin, end, cores, to);
                }
            }
        }
    }

    /// A stage after which the frame stays on its host, or is done.
    fn stay(&mut self, origin: &Origin, end: usize, cores: Cores) {
        let Some((value, last)) = self.stage_value(origin, end, cores, ExitKind::OWN) else { return };
        let own = self.problem.hosts[origin.host].own();
        let senders = own.senders_on(cores).index();
        let place = self.places.inside[origin.mask * self.places.hosts + origin.host];
        self.reach(end, place + senders * own.counts.len() + (origin.used + cores).index(), value, last);
    }

    /// A stage after which the frame goes to another host.
    fn leave(&mut self, origin: &Origin, end: usize, cores: Cores, to: usize) {
        let problem = self.problem;
        let Some(way) = problem.links.way(origin.host, to) else { return };
        let exit = problem.hosts[origin.host].exit_by(way);
        let Some(((latency, period), last)) = self.stage_value(origin, end, cores, exit) else { return };
        let place = self.places.before[origin.mask * self.places.hosts + to];
        let state = place + problem.hosts[to].entry_by(way).0 - 1;
        let value = (latency.saturating_add(way.time[end].0), period.max(way.occupied[end].0));
        self.reach(end, state, value, last);
    }

    /// What comes of a stage on so many cores; `None` if there is none within the bound that fewer cores do not have as well.
    fn stage_value(
        &self,
        origin: &Origin,
        end: usize,
        cores: Cores,
        exit: ExitKind,
    ) -> Option<((u64, u64), LastStage)> {
        let Origin { before, start, host, entry, senders, value, .. } = *origin;
        let bounded = &self.bounded[host][self.variant(host, entry, exit)];
        let place = bounded.options.row(senders, range(start, end)) + cores.index();
        let latency = bounded.latency[place];
        if latency == u64::MAX {
            return None;
        }
        let last = LastStage { before, start, host, entry, exit, senders, option: bounded.current[place] };
        Some(((value.0.saturating_add(latency), value.1.max(bounded.period[place])), last))
    }

    fn reach(&mut self, end: usize, state: usize, value: (u64, u64), last: LastStage) {
        let at = end * self.places.count + state;
        if value < self.best[at] {
            self.best[at] = value;
            self.choice[at] = last;
        }
    }
}
