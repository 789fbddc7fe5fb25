//! The shortest period.

use std::sync::PoisonError;

use millstream_cost::Nanoseconds;
use millstream_partition::{BlockId, BlockRange};

use crate::allocations::Allocations;
use crate::core_sets::CoreSet;
use crate::cores::Cores;
use crate::known_options::KnownOptions;
use crate::senders::Senders;
use crate::stage_periods::{StagePeriods, fewest_within};
use crate::useful_ways::UsefulWays;
use crate::way::{StageWays, WayId};
use crate::ways_by_cores::FewerCores;
use crate::{PipelineError, Plan, Problem};

/// The same without regard to memory.
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
    senders: Senders,
    blocks: BlockRange,
    cores: Cores,
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
                Some(found) => shortest = found,
                None => least = periods.next_after(middle)?,
            }
        }
        Some(shortest)
    }

    /// The same with the replicas of each stage: of those that keep to the period, the ones with the lowest latency.
    fn with_replicas(&self, problem: &Problem, ways: &UsefulWays) -> Vec<StageWays> {
        let mut allocations = Allocations::new(problem, ways);
        let mut all = problem.options.lock().unwrap_or_else(PoisonError::into_inner);
        let known =
            all.entry(problem.reading).or_insert_with(|| KnownOptions::new(problem.all_senders(), problem.blocks()));
        let mut replicas = |stage: &SizedStage| -> Vec<WayId> {
            let own = allocations.options(known, (stage.senders, stage.blocks), self.period);
            let able = own.iter().filter(|(cores, _)| problem.counts.are_within(*cores, stage.cores));
            let best = able.min_by_key(|(_, own)| (own.period.max(self.period), own.latency)).map(|own| own.1.replicas);
            best.map_or(Vec::new(), |replicas| known.multisets.at(replicas).to_vec())
        };
        let blocks = self.stages.iter().map(|stage| stage.blocks);
        blocks.zip(self.stages.iter().map(&mut replicas)).collect()
    }
}

/// Which numbers of cores first blocks get by with.
struct PeriodSearch<'a> {
    problem: &'a Problem,
    periods: &'a StagePeriods,
    fewer: &'a FewerCores,
    all_senders: Vec<Senders>,
    /// By numbers of cores.
    rooms: Vec<CoreSet>,
    /// What a stage on so many cores is to the stage after it.
    next_senders: Vec<Senders>,
    /// By blocks done, and what their last stage is to the next one.
    reached: Vec<CoreSet>,
}

impl<'a> PeriodSearch<'a> {
    fn new(problem: &'a Problem, ways: &'a UsefulWays, periods: &'a StagePeriods) -> Self {
        let all_senders: Vec<Senders> = problem.all_senders().collect();
        let states = (problem.blocks() + 1) * all_senders.len();
        Self {
            problem,
            periods,
            fewer: &ways.by_cores.fewer,
            rooms: CoreSet::with_room_for_each(&problem.counts),
            next_senders: problem.counts.all().map(|cores| problem.senders_on(cores)).collect(),
            reached: vec![CoreSet::none_of(&problem.counts); states],
            all_senders,
        }
    }

    fn state(&self, done: usize, senders: Senders) -> usize {
        done * self.all_senders.len() + senders.index()
    }

    /// A pipeline whose stages all keep to a period; `None` if there is none.
    fn within(&mut self, period: Nanoseconds) -> Option<ShortestStages> {
        let blocks = self.problem.blocks();
        self.reached.iter_mut().for_each(CoreSet::clear);
        self.reached[0].insert(Cores::NONE.index());
        for start in 0..blocks {
            for of_senders in 0..self.all_senders.len() {
                let senders = self.all_senders[of_senders];
                let before = self.state(start, senders);
                if !self.reached[before].is_empty() {
                    (start + 1..=blocks).for_each(|end| self.add_stage(before, (senders, start..end), period));
                }
            }
        }
        self.stages(period)
    }

    /// Adds what is reached from a state with one more stage.
    fn add_stage(&mut self, before: usize, (senders, blocks): (Senders, std::ops::Range<usize>), period: Nanoseconds) {
        let after = self.state(blocks.end, Senders::NETWORK);
        let (done, open) = self.reached.split_at_mut(after);
        let own = self.periods.on(senders, blocks.into());
        for cores in fewest_within(own, period, self.fewer) {
            open[self.next_senders[cores].index()].add_sums(&done[before], &self.rooms[cores], cores);
        }
    }

    /// The pipeline of all blocks on what is reached first, with stages as long as possible from the last one on.
    fn stages(&self, period: Nanoseconds) -> Option<ShortestStages> {
        let mut end = self.problem.blocks();
        let ends = self.all_senders.iter().filter_map(|&own| Some((self.reached[self.state(end, own)].first()?, own)));
        let (mut used, mut sender) = ends.min()?;
        let mut shortest = ShortestStages { period: Nanoseconds::ZERO, stages: Vec::new() };
        while end > 0 {
            let starts = (0..end).flat_map(|start| self.all_senders.iter().map(move |&senders| (start, senders)));
            let stage = |(start, senders): (usize, Senders)| {
                let before = &self.reached[self.state(start, senders)];
                let own = self.periods.on(senders, BlockRange::new(BlockId::new(start), BlockId::new(end)));
                let leads_here = |cores: &usize| {
                    let left = used.checked_sub(*cores);
                    let is_reached = |left: usize| before.contains(left) && self.rooms[*cores].contains(left);
                    self.next_senders[*cores] == sender && left.is_some_and(is_reached)
                };
                let cores = fewest_within(own, period, self.fewer).find(leads_here)?;
                Some((start, senders, cores, own[cores]))
            };
            let (start, senders, cores, own) =
                starts.filter(|(start, senders)| *start > 0 || *senders == Senders::NETWORK).find_map(stage)?;
            shortest.period = shortest.period.max(own);
            let blocks = BlockRange::new(BlockId::new(start), BlockId::new(end));
            shortest.stages.push(SizedStage { senders, blocks, cores: Cores::at(cores) });
            (end, sender, used) = (start, senders, used - cores);
        }
        shortest.stages.reverse();
        Some(shortest)
    }
}
