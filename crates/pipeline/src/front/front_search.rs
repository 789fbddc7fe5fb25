//! The plan with the lowest latency under a bound on the period, by dynamic programming.

use millstream_cost::Nanoseconds;
use millstream_partition::{BlockId, BlockRange};

use crate::board::core_sets::CoreSet;
use crate::board::cores::Cores;
use crate::board::senders::Senders;
use crate::front::latency_period::LatencyPeriod;
use crate::front::raised_remainders::RaisedRemainders;
use crate::front::stages_within::{StageWithin, StagesWithin};
use crate::options::stage_options::StageOptions;
use crate::options::useful_ways::UsefulWays;
use crate::plan::Plan;
use crate::problem::Problem;
use crate::ways::prefixes::{PrefixId, PrefixTable, Prefixes};
use crate::ways::way::StageWays;

/// What the searches for the points of one front share.
pub(crate) struct FrontSearch<'a> {
    problem: &'a Problem,
    options: &'a StageOptions,
    stages: StagesWithin<'a>,
    remainders: RaisedRemainders,
    /// By numbers of cores: those that leave room beside them.
    compatible: Vec<CoreSet>,
    prefixes: Prefixes,
    /// The least of each prefix with exactly so many cores.
    best: PrefixTable<LatencyPeriod>,
    /// The last stage that gives it.
    choice: PrefixTable<LastStage>,
    /// By prefixes: the numbers of cores that are reached.
    reached: Vec<Vec<Cores>>,
}

/// A prefix with exactly so many cores.
type State = (PrefixId, Cores);

/// The last stage of a pipeline of the first blocks.
#[derive(Debug, Clone, Copy)]
struct LastStage {
    start: BlockId,
    senders: Senders,
    cores: Cores,
    /// Which of its options it is.
    option: usize,
}

impl LastStage {
    const NONE: Self = Self { start: BlockId::new(0), senders: Senders::NETWORK, cores: Cores::NONE, option: 0 };
}

impl<'a> FrontSearch<'a> {
    pub(crate) fn new(problem: &'a Problem, options: &'a StageOptions, ways: &'a UsefulWays) -> Self {
        let (prefixes, sizes) = (problem.prefixes(), problem.counts().len());
        let compatible = CoreSet::with_room_for_each(problem.counts());
        let mut stages = StagesWithin::new(problem, options, &ways.by_cores.fewer);
        Self {
            problem,
            options,
            remainders: RaisedRemainders::new(problem, &mut stages, &compatible),
            stages,
            compatible,
            best: PrefixTable::filled(prefixes, sizes, LatencyPeriod::UNREACHED),
            choice: PrefixTable::filled(prefixes, sizes, LastStage::NONE),
            reached: vec![Vec::new(); prefixes.len()],
            prefixes,
        }
    }

    /// The plan with the lowest latency among those whose stages' periods are within the bound, and among equals the
    /// one with the shortest period. The bound must not be higher than the last time.
    ///
    /// Only pipelines are gone through that may have no more than the least latency.
    pub(crate) fn lowest_latency(&mut self) -> Option<Plan> {
        let least = self.remainders.least(&mut self.stages, &self.compatible);
        if least.is_infinite() {
            return None;
        }
        let state = self.search(least)?;
        self.plan(state)
    }

    /// The bound on the period.
    pub(crate) fn bound(&self) -> Nanoseconds {
        self.stages.bound()
    }

    /// Lowers the bound on the period.
    pub(crate) fn tighten(&mut self, bound: Nanoseconds) {
        self.stages.tighten(bound);
        self.remainders.tightened();
    }

    /// Goes through all pipelines that may have no more than some latency; returns the best state after all blocks.
    fn search(&mut self, most: f64) -> Option<State> {
        let blocks = self.problem.blocks();
        let all = || (0..=blocks).flat_map(|done| self.prefixes.after(BlockId::new(done)).map(|(_, prefix)| prefix));
        for (prefix, reached) in all().zip(&mut self.reached) {
            reached.drain(..).for_each(|used| self.best[(prefix, used)] = LatencyPeriod::UNREACHED);
        }
        self.best[(PrefixId::NONE, Cores::NONE)] = LatencyPeriod::ZERO;
        self.reached[PrefixId::NONE.index()].push(Cores::NONE);

        for start in (0..blocks).map(BlockId::new) {
            for (_, prefix) in self.prefixes.after(start) {
                let latencies = self.reached[prefix.index()].iter().map(|&used| self.best[(prefix, used)].latency);
                let Some(least) = latencies.min().map(|least| least.0 as f64) else { continue };
                for row_index in self.stages.rows_after(prefix) {
                    if self.may_be_within(row_index, most - least) {
                        self.extend(prefix, row_index, least, most);
                    }
                }
            }
        }
        let states =
            self.prefixes.whole().flat_map(|prefix| self.problem.counts().all().map(move |used| (prefix, used)));
        let best = states.min_by_key(|&state| self.best[state]);
        best.filter(|&state| self.best[state] != LatencyPeriod::UNREACHED)
    }

    /// Whether a pipeline with a stage of this row may have no more than some latency after what comes before the
    /// stage.
    fn may_be_within(&self, row_index: usize, most: f64) -> bool {
        let row = self.stages.row(row_index);
        let all = self.problem.counts().most();
        let longer = self.prefixes.after(row.blocks.end());
        let after = longer.map(|(_, prefix)| self.remainders.at(prefix, all)).fold(f64::INFINITY, f64::min);
        row.least_latency.0 as f64 + after <= most
    }

    /// Adds each stage of a row to all that is reached of the prefix before it, where that may have no more than some
    /// latency. `least` is the least latency of what is reached there.
    fn extend(&mut self, prefix: PrefixId, row_index: usize, least: f64, most: f64) {
        let Self { stages, remainders, compatible, prefixes, best, choice, reached, .. } = self;
        let all = self.problem.counts().most();
        let done = stages.row(row_index).blocks.end();

        let left = |stage: &StageWithin, used: Cores| remainders.at(prefixes.id(done, stage.next), all - used);
        let may_be_within =
            |stage: &StageWithin| stage.value.latency.0 as f64 + left(stage, stage.cores) <= most - least;
        // What takes the place of a stage that breaks the bound takes no less on as many cores or more.
        if stages.has_broken(row_index, may_be_within) {
            stages.replace_broken(row_index);
        }

        let row = stages.row(row_index);
        let (before, after) = reached.split_at_mut(prefix.index() + 1);
        let before = &before[prefix.index()];
        let (start, senders) = (row.blocks.start(), row.senders);
        for stage in &row.stages {
            if stage.value.period > stages.bound() || !may_be_within(stage) {
                continue;
            }
            let longer = prefixes.id(done, stage.next);
            let has_room = &compatible[stage.cores.index()];
            for &used in before.iter().filter(|&&used| has_room.contains(used)) {
                let candidate = best[(prefix, used)].followed_by(stage.value);
                let state = (longer, used + stage.cores);
                if candidate >= best[state] || candidate.latency.0 as f64 + left(stage, used + stage.cores) > most {
                    continue;
                }
                if best[state] == LatencyPeriod::UNREACHED {
                    after[longer.index() - prefix.index() - 1].push(used + stage.cores);
                }
                best[state] = candidate;
                choice[state] = LastStage { start, senders, cores: stage.cores, option: stage.option };
            }
        }
    }

    /// The pipeline that leads to a state.
    fn plan(&self, mut state: State) -> Option<Plan> {
        let mut end = BlockId::new(self.problem.blocks());
        let mut stages: Vec<StageWays> = Vec::new();
        while end.index() > 0 {
            let LastStage { start, senders, cores, option } = self.choice[state];
            let ways = self.options.replicas(self.options.option(option).replicas).to_vec();
            stages.push(StageWays { blocks: BlockRange::new(start, end), ways });
            state = (self.prefixes.id(start, senders), state.1 - cores);
            end = start;
        }
        stages.reverse();
        self.problem.plan(stages)
    }
}
