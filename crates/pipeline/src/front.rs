//! Every trade-off between period and latency.

use millstream_partition::{BlockId, BlockRange};

use crate::core_sets::CoreSet;
use crate::cores::Cores;
use crate::period::ShortestStages;
use crate::planning::StageWays;
use crate::priced_stages::{PricedStage, PricedStages};
use crate::refining::is_about_as_short;
use crate::senders::Senders;
use crate::stage_options::StageOptions;
use crate::useful_ways::UsefulWays;
use crate::{PipelineError, Plan, Problem};

/// All plans that no other plan beats in period without losing in latency, from the lowest latency to the shortest period. Exact for stages
/// on single processors and their replicas; teams are looked at where they may be better by more than half a percent, within the problem's
/// effort.
///
/// The lowest latency under a bound on the period is found by dynamic programming over (blocks done, senders of the last stage, cores used),
/// among stages that prices for cores do not rule out; starting
/// without a bound and then asking for a shorter period than the last answer's walks along the front point by point, to the shortest period.
///
/// Where some of these do not fit into the board's memory, they are left out, and what is found on fewer cores and without replicas takes
/// their place: the front is then one of those that were found, not of all.
///
/// # Errors
/// [`PipelineError::Infeasible`] if no division into stages can run every operator, [`PipelineError::Memory`] if nothing fits into the
/// memory.
pub fn pareto_front(problem: &Problem) -> Result<Vec<Plan>, PipelineError> {
    let is_beaten = |plan: &Plan, known: &[Plan]| {
        let beats =
            |own: &Plan| is_about_as_short(own.latency, plan.latency) && is_about_as_short(own.period, plan.period);
        known.iter().any(beats)
    };
    let front = problem.refined(whole_front, is_beaten)?;
    problem.fitting(front, whole_front).map(Plan::undominated)
}

/// The front without regard to memory.
fn whole_front(problem: &Problem) -> Result<Vec<Plan>, PipelineError> {
    let ways = UsefulWays::of(problem);
    let shortest = ShortestStages::of(problem, &ways).ok_or(PipelineError::Infeasible)?.period;
    let options = StageOptions::by_time_above(problem, &ways, shortest);
    let mut search = FrontSearch::new(problem, &options, &ways);
    let mut front: Vec<Plan> = Vec::new();
    while let Some(plan) = search.lowest_latency() {
        // No period is shorter than nothing, which networks of operators without any known work take.
        let shorter = problem.reading.shorter(plan.period);
        // A later point with the same latency and a shorter period replaces the earlier one.
        if front.last().is_some_and(|last| last.latency == plan.latency) {
            front.pop();
        }
        front.push(plan);
        // Without a shorter bound the same plan would come again and again.
        match shorter.filter(|period| *period < search.stages.bound() && *period >= shortest.0) {
            Some(period) => search.stages.tighten(period),
            None => break,
        }
    }
    if front.is_empty() { Err(PipelineError::Infeasible) } else { Ok(front) }
}

const UNREACHED: (u64, u64) = (u64::MAX, u64::MAX);

/// How much more than the bound on the latency is looked through first, in terms of it.
const FIRST_SLACK: f64 = 0.002;
/// With more than this, everything is looked through.
const MOST_SLACK: f64 = 4.0;
/// Sums of prices are rounded.
const ROUNDING: f64 = 1e-9;

/// What the searches for the points of one front share.
struct FrontSearch<'a> {
    problem: &'a Problem,
    options: &'a StageOptions,
    stages: PricedStages<'a>,
    /// By numbers of cores.
    rooms: Vec<CoreSet>,
    /// (latency, period) of the first blocks, by what their last stage is to the next and with exactly so many cores.
    best: Vec<(u64, u64)>,
    /// The last stage that gives it.
    choice: Vec<LastStage>,
    /// See [`FIRST_SLACK`].
    slack: f64,
}

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
    fn new(problem: &'a Problem, options: &'a StageOptions, ways: &'a UsefulWays) -> Self {
        let states = (problem.blocks() + 1) * problem.all_senders().count() * problem.counts.len();
        Self {
            problem,
            options,
            stages: PricedStages::new(problem, options, &ways.by_cores.fewer),
            rooms: CoreSet::with_room_for_each(&problem.counts),
            best: vec![UNREACHED; states],
            choice: vec![LastStage::NONE; states],
            slack: FIRST_SLACK,
        }
    }

    /// The plan with the lowest latency among those whose stages' periods are within the bound, and among equals the one with
    /// the shortest period.
    ///
    /// Only stages count that may belong to a pipeline of no more than some latency, a little above its bound. If what is found has no more, it is
    /// the best of all; if it has more, the best of all is among those that may belong to one of as much.
    fn lowest_latency(&mut self) -> Option<Plan> {
        self.stages.price();
        let least = self.stages.least_latency()?;
        let mut most = least * (1.0 + self.slack);
        loop {
            let found = self.search(most * (1.0 + ROUNDING) + 1.0);
            let latency = found.map_or(f64::INFINITY, |own| self.best[own].0 as f64);
            if latency <= most {
                self.slack = ((latency / least.max(1.0) - 1.0) * 1.5).max(FIRST_SLACK);
                return self.plan(found?);
            }
            most = match found {
                Some(_) => latency,
                None if most < least * (1.0 + MOST_SLACK) => least + (most - least + 1.0) * 4.0,
                None if most.is_finite() => f64::INFINITY,
                None => return None,
            };
        }
    }

    /// Goes through all pipelines that may have no more than some latency; returns the best state after all blocks.
    fn search(&mut self, most: f64) -> Option<usize> {
        let useful = self.stages.within(most);
        let sizes = self.problem.counts.len();
        let kinds = self.problem.all_senders().count();
        let states = kinds * sizes;
        self.best.fill(UNREACHED);
        self.best[0] = (0, 0);
        for of_start in useful.chunk_by(|one, other| (one.start, one.senders) == (other.start, other.senders)) {
            let PricedStage { start, senders, .. } = of_start[0];
            let from = start.index() * states + senders.index() * sizes;
            let left = most - self.stages.least_after(start, senders);
            let reached = |used: &usize| {
                let latency = self.best[from + used].0;
                latency != UNREACHED.0 && latency as f64 + self.stages.price_of(*used) <= left
            };
            let alive: Vec<usize> = (0..sizes).filter(reached).collect();
            for stage in of_start {
                let to = stage.end.index() * states + stage.next.index() * sizes + stage.cores.index();
                for &used in alive.iter().filter(|used| self.rooms[stage.cores.index()].contains(**used)) {
                    let (latency, period) = self.best[from + used];
                    let candidate = (latency.saturating_add(stage.latency), period.max(stage.period));
                    if candidate < self.best[to + used] {
                        self.best[to + used] = candidate;
                        let PricedStage { cores, option, .. } = *stage;
                        self.choice[to + used] = LastStage { start, senders, cores, option };
                    }
                }
            }
        }
        let all = self.problem.blocks() * states;
        (all..all + states).min_by_key(|&own| self.best[own]).filter(|&own| self.best[own] != UNREACHED)
    }

    /// The pipeline that leads to a state.
    fn plan(&self, mut state: usize) -> Option<Plan> {
        let sizes = self.problem.counts.len();
        let kinds = self.problem.all_senders().count();
        let mut end = BlockId::new(self.problem.blocks());
        let mut stages: Vec<StageWays> = Vec::new();
        while end.index() > 0 {
            let LastStage { start, senders, cores, option } = self.choice[state];
            let replicas = self.options.replicas(self.options.option(option).replicas);
            stages.push((BlockRange::new(start, end), replicas.to_vec()));
            state = (start.index() * kinds + senders.index()) * sizes + state % sizes - cores.index();
            end = start;
        }
        stages.reverse();
        self.problem.plan(stages)
    }
}
