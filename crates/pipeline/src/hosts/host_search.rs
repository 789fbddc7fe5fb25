//! Every trade-off between period and latency over several hosts.
//!
//! The lowest latency under a bound on the period is found by dynamic programming over states: blocks that are done,
//! the hosts that have been used, and where the frame is. That is either inside a host, with cores of it in use and
//! some senders to the next stage, or between two hosts, with none of the next one's cores in use. As the stages of a
//! host follow each other, nothing has to be known of the cores of hosts that were left. Lowering the bound after each
//! answer walks along the front, as on one board.

use millstream_cost::Nanoseconds;
use millstream_partition::{BlockId, BlockRange};

use super::host_set::HostSet;
use super::place::HostPlace;
use super::states::{LastStage, Origin, State, StateTable, States};
use super::variant_table::{EntryKind, ExitKind, VariantTable};
use super::{HostDivision, SystemProblem};
use crate::board::cores::Cores;
use crate::board::senders::Senders;
use crate::front::latency_period::LatencyPeriod;
use crate::options::options_within::{OptionWithin, OptionsWithin};
use crate::options::stage_options::StageOptions;
use crate::plan::Plan;
use crate::ways::way::WayId;

/// A stage of a pipeline over several hosts.
#[derive(Clone)]
pub(crate) struct HostStage {
    pub(super) host: HostPlace,
    pub(super) blocks: BlockRange,
    pub(super) entry: EntryKind,
    pub(super) exit: ExitKind,
    pub(super) senders: Senders,
    pub(super) ways: Vec<WayId>,
}

/// The search for plans over several hosts.
pub(super) struct HostSearch<'a> {
    problem: &'a SystemProblem,
    division: &'a HostDivision,
    /// Per host.
    options: &'a [VariantTable<StageOptions>],
    /// Of these, what is within the bound.
    within: Vec<VariantTable<OptionsWithin<'a>>>,
    /// Per host, and per number of its cores: the senders to the stage after one on these.
    senders_on: Vec<Vec<Senders>>,
    /// No stage or link has a longer period.
    bound: Nanoseconds,
    states: States,
    /// The least of each state.
    best: StateTable<LatencyPeriod>,
    /// The last stage that gives it.
    choice: StateTable<LastStage>,
}

impl<'a> HostSearch<'a> {
    /// The front, from the lowest latency on; empty if nothing can run every operator.
    pub(super) fn front(problem: &'a SystemProblem, division: &HostDivision) -> Vec<Plan> {
        let options: Vec<_> = problem.hosts.iter().map(|host| host.variants().map(StageOptions::by_time)).collect();
        let mut search = HostSearch::new(problem, division, &options);

        let mut front: Vec<Plan> = Vec::new();
        while let Some(plan) = search.lowest_latency() {
            if front.last().is_some_and(|last| last.latency == plan.latency) {
                front.pop();
            }
            let shorter = problem.settings().shorter(plan.period).filter(|shorter| *shorter < search.bound);
            front.push(plan);
            let Some(shorter) = shorter else { break };
            search.tighten(shorter);
        }
        front
    }

    fn new(problem: &'a SystemProblem, division: &'a HostDivision, options: &'a [VariantTable<StageOptions>]) -> Self {
        let states = States::of(problem);
        let senders_on = |host: HostPlace| {
            let within = problem.host(host).within();
            within.counts().all().map(|cores| within.senders_on(cores)).collect()
        };
        Self {
            problem,
            division,
            options,
            senders_on: problem.places().map(senders_on).collect(),
            within: options.iter().map(|options| options.map(OptionsWithin::of)).collect(),
            bound: Nanoseconds(u64::MAX),
            best: StateTable::filled(&states, problem.blocks, LatencyPeriod::UNREACHED),
            choice: StateTable::filled(&states, problem.blocks, LastStage::NONE),
            states,
        }
    }

    /// Lowers the bound.
    fn tighten(&mut self, bound: Nanoseconds) {
        self.bound = bound;
        self.within.iter_mut().flat_map(VariantTable::values_mut).for_each(|options| options.tighten(bound));
    }

    /// The plan with the lowest latency whose stages and links all have a period within the bound, and among equals the
    /// one with the shortest period.
    fn lowest_latency(&mut self) -> Option<Plan> {
        self.best.fill(LatencyPeriod::UNREACHED);
        for host in self.problem.places() {
            let arriving = self.problem.host(host).arriving;
            if arriving.period <= self.bound {
                self.extend(&Origin::of_network(host, arriving));
            }
        }
        for start in (1..self.problem.blocks).map(BlockId::new) {
            // After any block some host is in use.
            for in_use in HostSet::all(self.problem.hosts.len()).skip(1) {
                for host in self.problem.places() {
                    self.extend_from(start, in_use, host);
                }
            }
        }

        let last = self.states.all().map(|state| (self.problem.end(), state)).min_by_key(|&last| self.best[last])?;
        if self.best[last] == LatencyPeriod::UNREACHED {
            return None;
        }
        self.problem.plan(&self.stages(last))
    }

    /// The stages that lead to a state.
    fn stages(&self, last: State) -> Vec<HostStage> {
        let mut stages = Vec::new();
        let mut reached = Some(last);
        while let Some(state) = reached {
            let (done, _) = state;
            let last = self.choice[state];
            stages.push(self.stage(last, done));
            reached = last.before;
        }
        stages.reverse();
        stages
    }

    fn stage(&self, last: LastStage, end: BlockId) -> HostStage {
        let LastStage { start, host, entry, exit, senders, option, .. } = last;
        let options = &self.options[host.index()][(entry, exit)];
        let ways = options.replicas(options.option(option).replicas).to_vec();
        HostStage { host, blocks: BlockRange::new(start, end), entry, exit, senders, ways }
    }

    /// Goes on with stages on a host from all states before this block with these hosts in use.
    fn extend_from(&mut self, start: BlockId, in_use: HostSet, host: HostPlace) {
        match in_use.contains(host) {
            true if self.division.has_pipelines() => self.extend_inside(start, in_use, host),
            true => {}
            false => self.enter(start, in_use, host),
        }
    }

    /// Goes on inside a host that is in use.
    fn extend_inside(&mut self, start: BlockId, in_use: HostSet, host: HostPlace) {
        let within = self.problem.host(host).within();
        for senders in within.all_senders() {
            for used in within.counts().all() {
                let state = (start, self.states.inside(in_use, host, senders, used));
                let value = self.best[state];
                if value != LatencyPeriod::UNREACHED {
                    let (before, entry) = (Some(state), EntryKind::SAME_HOST);
                    self.extend(&Origin { before, start, host, in_use, entry, senders, used, value });
                }
            }
        }
    }

    /// Goes on from before a host that is not in use yet.
    fn enter(&mut self, start: BlockId, in_use: HostSet, host: HostPlace) {
        for entry in self.problem.host(host).entries_by_link() {
            let state = (start, self.states.before(in_use, host, entry));
            let value = self.best[state];
            if value != LatencyPeriod::UNREACHED {
                let (before, senders) = (Some(state), Senders::NETWORK);
                let (in_use, used) = (in_use.with(host), Cores::NONE);
                self.extend(&Origin { before, start, host, in_use, entry, senders, used, value });
            }
        }
    }

    /// Adds every stage that can follow.
    fn extend(&mut self, origin: &Origin) {
        let (problem, host) = (self.problem, origin.host);
        let counts = problem.host(host).within().counts();
        let free: Vec<Cores> =
            counts.with_room_for(origin.used).into_iter().filter(|cores| *cores != Cores::NONE).collect();
        let others: Vec<HostPlace> = problem.places().filter(|other| !origin.in_use.contains(*other)).collect();

        for end in (origin.start.index() + 1..=problem.blocks).map(BlockId::new) {
            let blocks = BlockRange::new(origin.start, end);
            if !self.division.allows(host, blocks) {
                break;
            }
            for &cores in &free {
                self.stay(origin, blocks, cores);
            }
            if end == problem.end() {
                break;
            }
            for &to in &others {
                let Some(link) = problem.links.between(host, to) else { continue };
                if link.frame_after(end).occupied > self.bound {
                    continue;
                }
                for &cores in &free {
                    self.leave(origin, blocks, cores, to);
                }
            }
        }
    }

    /// A stage after which the frame stays on its host, or is done.
    fn stay(&mut self, origin: &Origin, blocks: BlockRange, cores: Cores) {
        let Some((mut value, last)) = self.stage_value(origin, blocks, cores, ExitKind::SAME_HOST) else { return };
        if blocks.end() == self.problem.end() {
            let leaving = self.problem.host(origin.host).leaving;
            if leaving.period > self.bound {
                return;
            }
            value = value.followed_by(leaving);
        }
        let senders = self.senders_on[origin.host.index()][cores.index()];
        let state = self.states.inside(origin.in_use, origin.host, senders, origin.used + cores);
        self.reach((blocks.end(), state), value, last);
    }

    /// A stage after which the frame goes to another host.
    fn leave(&mut self, origin: &Origin, blocks: BlockRange, cores: Cores, to: HostPlace) {
        let problem = self.problem;
        let Some(link) = problem.links.between(origin.host, to) else { return };
        let exit = problem.host(origin.host).exit_by(link);
        let Some((value, last)) = self.stage_value(origin, blocks, cores, exit) else { return };
        let state = self.states.before(origin.in_use, to, problem.host(to).entry_by(link));
        let frame = link.frame_after(blocks.end());
        let on_link = LatencyPeriod { latency: frame.time, period: frame.occupied };
        self.reach((blocks.end(), state), value.followed_by(on_link), last);
    }

    /// What comes of a stage on so many cores; `None` if there is none within the bound that fewer cores do not have as
    /// well.
    fn stage_value(
        &self,
        origin: &Origin,
        blocks: BlockRange,
        cores: Cores,
        exit: ExitKind,
    ) -> Option<(LatencyPeriod, LastStage)> {
        let Origin { before, start, host, entry, senders, value, .. } = *origin;
        let within = &self.within[host.index()][(entry, exit)];
        let OptionWithin { option, latency, period } = within.on(senders, blocks, cores)?;
        let last = LastStage { before, start, host, entry, exit, senders, option };
        Some((value.followed_by(LatencyPeriod { latency, period }), last))
    }

    fn reach(&mut self, state: State, value: LatencyPeriod, last: LastStage) {
        if value < self.best[state] {
            self.best[state] = value;
            self.choice[state] = last;
        }
    }
}
