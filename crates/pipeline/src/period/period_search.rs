//! The search for the shortest period, without regard to memory.

use millstream_cost::Nanoseconds;
use millstream_partition::{BlockId, BlockRange};

use crate::board::core_sets::CoreSet;
use crate::board::cores::Cores;
use crate::board::senders::Senders;
use crate::error::PipelineError;
use crate::options::allocations::Allocations;
use crate::options::useful_ways::UsefulWays;
use crate::options::ways_by_cores::FewerCores;
use crate::period::stage_periods::{StagePeriods, fewest_within};
use crate::plan::Plan;
use crate::problem::Problem;
use crate::problem::known_options::KnownOptions;
use crate::ways::prefixes::{PrefixId, Prefixes};
use crate::ways::stage_blocks::StageBlocks;
use crate::ways::way::StageWays;

/// The pipeline with the shortest period as if the memory had room for anything; it has the lowest latency that its
/// stages allow.
///
/// # Errors
/// [`PipelineError::Infeasible`] if no division into stages can run every operator.
pub(crate) fn shortest_period(problem: &Problem) -> Result<Plan, PipelineError> {
    let ways = UsefulWays::of(problem);
    let shortest = ShortestStages::of(problem, &ways).ok_or(PipelineError::Infeasible)?;
    problem.plan(shortest.with_replicas(problem, &ways)).ok_or(PipelineError::Infeasible)
}

/// The stages of a pipeline with the shortest period.
#[derive(Debug)]
pub(crate) struct ShortestStages {
    pub(crate) period: Nanoseconds,
    stages: Vec<SizedStage>,
}

/// A stage, and how many cores it has at the most.
#[derive(Debug, Clone, Copy)]
struct SizedStage {
    stage: StageBlocks,
    cores: Cores,
    /// The shortest on these cores or fewer.
    period: Nanoseconds,
}

/// What a pipeline of the first blocks has come to.
#[derive(Debug, Clone, Copy)]
struct PeriodState {
    /// The block after them.
    done: BlockId,
    /// The cores of all its stages.
    used: Cores,
    /// The senders to the next stage.
    senders: Senders,
}

impl ShortestStages {
    /// `None` if no pipeline can run all blocks.
    pub(crate) fn of(problem: &Problem, ways: &UsefulWays) -> Option<Self> {
        let periods = StagePeriods::of(problem, ways);
        let mut search = PeriodSearch::new(problem, ways, &periods);
        let longest = Nanoseconds(StagePeriods::NEVER.0 - 1);
        let mut shortest = search.within(longest)?;
        let mut least = Nanoseconds(1);
        while least < shortest.period {
            let middle = Nanoseconds(least.0 + (shortest.period.0 - least.0) / 2);
            match search.within(middle) {
                Some(stages) => shortest = stages,
                None => least = periods.next_after(middle)?,
            }
        }
        Some(shortest)
    }

    /// The stages with the replicas of each: of those that keep to the period, the ones with the lowest latency.
    fn with_replicas(&self, problem: &Problem, ways: &UsefulWays) -> Vec<StageWays> {
        let mut allocations = Allocations::new(problem, ways);
        let mut with_replicas = |sized: &SizedStage, known: &mut KnownOptions| {
            let options = allocations.options(known, sized.stage, self.period).iter();
            let able = options.filter(|option| problem.counts().are_within(option.cores, sized.cores));
            let best =
                able.map(|sized| sized.option).min_by_key(|option| (option.period.max(self.period), option.latency));
            let ways = best.map_or(Vec::new(), |best| known.multisets.at(best.replicas).to_vec());
            StageWays { blocks: sized.stage.blocks, ways }
        };
        problem.with_known_options(|known| self.stages.iter().map(|stage| with_replicas(stage, known)).collect())
    }
}

/// Core counts that suffice for each prefix of blocks.
struct PeriodSearch<'a> {
    problem: &'a Problem,
    periods: &'a StagePeriods,
    fewer: &'a FewerCores,
    prefixes: Prefixes,
    /// By numbers of cores: those that leave room beside them.
    compatible: Vec<CoreSet>,
    /// By numbers of cores: the senders to the stage after one on them.
    next_senders: Vec<Senders>,
    /// By prefixes: the numbers of cores that suffice.
    reached: Vec<CoreSet>,
}

impl<'a> PeriodSearch<'a> {
    fn new(problem: &'a Problem, ways: &'a UsefulWays, periods: &'a StagePeriods) -> Self {
        let prefixes = problem.prefixes();
        Self {
            problem,
            periods,
            fewer: &ways.by_cores.fewer,
            compatible: CoreSet::with_room_for_each(problem.counts()),
            next_senders: problem.counts().all().map(|cores| problem.senders_on(cores)).collect(),
            reached: vec![CoreSet::none_of(problem.counts()); prefixes.len()],
            prefixes,
        }
    }

    /// A pipeline whose stages all keep to a period; `None` if there is none.
    fn within(&mut self, period: Nanoseconds) -> Option<ShortestStages> {
        let blocks = self.problem.blocks();
        self.reached.iter_mut().for_each(CoreSet::clear);
        self.reached[PrefixId::NONE.index()].insert(Cores::NONE);
        for start in 0..blocks {
            for (senders, before) in self.prefixes.after(BlockId::new(start)) {
                if !self.reached[before.index()].is_empty() {
                    let stages = (start + 1..=blocks).map(|end| BlockRange::from(start..end));
                    stages.for_each(|blocks| self.add_stage(before, StageBlocks { senders, blocks }, period));
                }
            }
        }
        self.stages(period)
    }

    /// Adds what is reached from a state with one more stage.
    fn add_stage(&mut self, before: PrefixId, StageBlocks { senders, blocks }: StageBlocks, period: Nanoseconds) {
        let after = self.prefixes.first_after(blocks.end());
        let (done, open) = self.reached.split_at_mut(after.index());
        let row = self.periods.on(senders, blocks);
        for cores in fewest_within(row, period, self.fewer) {
            let longer = &mut open[self.next_senders[cores.index()].index()];
            longer.add_sums(&done[before.index()], &self.compatible[cores.index()], cores);
        }
    }

    /// The pipeline of all blocks on what is reached first, with stages as long as possible from the last one on.
    fn stages(&self, period: Nanoseconds) -> Option<ShortestStages> {
        let done = BlockId::new(self.problem.blocks());
        let at_the_end = |(senders, prefix): (Senders, PrefixId)| {
            let used = self.reached[prefix.index()].first()?;
            Some(PeriodState { done, used, senders })
        };
        let ends = self.prefixes.after(done).filter_map(at_the_end);
        let mut state = ends.min_by_key(|state| (state.used, state.senders))?;
        let mut shortest = ShortestStages { period: Nanoseconds::ZERO, stages: Vec::new() };
        while state.done.index() > 0 {
            let last = self.last_stage(state, period)?;
            shortest.period = shortest.period.max(last.period);
            let StageBlocks { blocks, senders } = last.stage;
            state = PeriodState { done: blocks.start(), used: state.used - last.cores, senders };
            shortest.stages.push(last);
        }
        shortest.stages.reverse();
        Some(shortest)
    }

    /// The longest stage that pipelines may end with which keep to a period and lead to a state.
    fn last_stage(&self, state: PeriodState, period: Nanoseconds) -> Option<SizedStage> {
        for start in (0..state.done.index()).map(BlockId::new) {
            let may_send = |(senders, _): &(Senders, PrefixId)| senders.may_send_to(start);
            for (senders, prefix) in self.prefixes.after(start).filter(may_send) {
                let before = &self.reached[prefix.index()];
                let blocks = BlockRange::new(start, state.done);
                let row = self.periods.on(senders, blocks);
                let leads_here = |cores: &Cores| {
                    let left = state.used.index().checked_sub(cores.index()).map(Cores::at);
                    let has_room = &self.compatible[cores.index()];
                    let is_reached = |left: Cores| before.contains(left) && has_room.contains(left);
                    self.next_senders[cores.index()] == state.senders && left.is_some_and(is_reached)
                };

                if let Some(cores) = fewest_within(row, period, self.fewer).find(leads_here) {
                    let stage = StageBlocks { senders, blocks };
                    return Some(SizedStage { stage, cores, period: row[cores.index()] });
                }
            }
        }
        None
    }
}
