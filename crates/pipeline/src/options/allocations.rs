//! How the cores of a stage are divided among replicas.

use std::sync::Arc;

use millstream_cost::Nanoseconds;
use millstream_schedule::{period_of, replicated_period, shared_period};

use crate::board::cores::Cores;
use crate::board::stage_power::StagePower;
use crate::options::useful_ways::UsefulWays;
use crate::problem::Problem;
use crate::problem::known_options::KnownOptions;
use crate::ways::multisets::{MultisetId, Multisets};
use crate::ways::stage_blocks::StageBlocks;
use crate::ways::stage_option::{SizedOption, StageOption};
use crate::ways::timed_way::TimedWay;
use crate::ways::way::WayId;

/// The best replicas of a stage for every number of cores and every latency.
///
/// Within a latency, those replicas may be chosen that are no slower, and of these the rates add up: the highest rate
/// for each number of cores, or fewer, is found by dynamic programming over numbers of cores (an unbounded knapsack).
/// Ways come in order of their times, each changing what was reached without it, so that the highest rates for every
/// latency are met on the way. A period is of no use below the shortest of all pipelines (the floor): numbers
/// of cores that reach it are settled, and so are all that have no fewer of any cluster.
pub(crate) struct Allocations<'a> {
    problem: &'a Problem,
    ways: &'a UsefulWays,
    // What follows is of the stage at hand.
    /// Per number of cores: the highest rate so far of so many or fewer.
    best: Vec<ReachedRate>,
    /// Per number of cores, whether nothing is of use any more that takes longer.
    is_settled: Vec<bool>,
    /// How rates were reached.
    steps: Vec<Step>,
    /// Per step, the ways up to it, where somebody has asked.
    multisets: Vec<Option<MultisetId>>,
    /// Of some replicas, while their period is found.
    times: Vec<Nanoseconds>,
    /// Per number of cores: the sets that are quicker than all on fewer cores, by rising latency.
    candidates: Vec<Vec<Candidate>>,
}

/// The highest rate that is reached, in frames a nanosecond, and the last step to it; `None` if nothing is reached.
#[derive(Clone, Copy)]
struct ReachedRate {
    rate: f64,
    step: Option<StepId>,
}

/// One more replica, by the order in which steps were found. Numbered with 32 bits: there is one for every number of
/// cores and way at most.
#[derive(Clone, Copy)]
struct StepId(u32);

/// One more replica.
#[derive(Clone, Copy)]
struct Step {
    way: WayId,
    /// The step before it; `None` for the first.
    before: Option<StepId>,
}

/// A set of replicas that may be an option.
#[derive(Clone, Copy)]
struct Candidate {
    latency: Nanoseconds,
    /// Its period without waits for links.
    least_period: Nanoseconds,
    last_step: StepId,
}

const NOTHING: ReachedRate = ReachedRate { rate: 0.0, step: None };

impl<'a> Allocations<'a> {
    pub(crate) fn new(problem: &'a Problem, ways: &'a UsefulWays) -> Self {
        let sizes = problem.counts().len();
        Self {
            problem,
            ways,
            best: vec![NOTHING; sizes],
            is_settled: vec![false; sizes],
            steps: Vec::new(),
            multisets: Vec::new(),
            times: Vec::new(),
            candidates: vec![Vec::new(); sizes],
        }
    }

    /// Finds the best replicas of a stage on these ways.
    fn find(&mut self, ways: &[TimedWay], stage: StageBlocks, floor: Nanoseconds) {
        let occupied = self.problem.occupied_links(stage.senders, stage.blocks);
        self.best.fill(NOTHING);
        self.is_settled.fill(false);
        self.steps.clear();
        self.multisets.clear();
        self.candidates.iter_mut().for_each(Vec::clear);

        let mut changed = Vec::new();
        for equals in ways.chunk_by(|one, other| one.time == other.time) {
            changed.clear();
            for way in equals {
                if self.problem.is_alone(way.id, &occupied) { self.add_alone(way) } else { self.add(way, &mut changed) }
            }
            if equals.len() > 1 {
                changed.sort_unstable();
                changed.dedup();
            }
            for &cores in &changed {
                let ReachedRate { rate, step: Some(last_step) } = self.best[cores.index()] else { continue };
                // Links only make it longer. Sums of rates differ by their order, by much less than a nanosecond.
                let least_period = Nanoseconds((1.0 / rate) as u64);
                self.candidates[cores.index()].push(Candidate { latency: equals[0].time, least_period, last_step });
                self.is_settled[cores.index()] |= occupied.is_empty() && period_of(rate) <= floor;
            }
        }
    }

    /// The options of a stage, by their numbers of cores, that are of use to pipelines with no shorter period than
    /// `floor`. Those that were found before are found again if no way of use has another time.
    pub(crate) fn options<'k>(
        &mut self,
        known: &'k mut KnownOptions,
        stage: StageBlocks,
        floor: Nanoseconds,
    ) -> &'k [SizedOption] {
        let ways = self.ways.on(stage.senders, stage.blocks);
        let before = known.of_stages[stage.senders.index()].at_mut(stage.blocks);
        if before.floor > floor || before.ways != ways {
            self.find(ways, stage, floor);
            before.ways.clear();
            before.ways.extend_from_slice(ways);
            before.floor = floor;
            before.options.clear();
            for cores in self.problem.counts().all() {
                self.keep_new(cores, stage, Arc::make_mut(&mut known.multisets), &mut before.options);
            }
        }
        &before.options
    }

    /// Adds a team that has its stage for itself: what several processors take over a link that others use as well is
    /// not known.
    fn add_alone(&mut self, way: &TimedWay) {
        let last_step = self.add_step(Step { way: way.id, before: None });
        let alone = Candidate { latency: way.time, least_period: way.time, last_step };
        self.candidates[way.cores.index()].push(alone);
    }

    /// Adds replicas on one more way, and notes where that makes so many cores better than fewer.
    fn add(&mut self, way: &TimedWay, changed: &mut Vec<Cores>) {
        let more = 1.0 / way.time.0 as f64;
        for &cores in &self.ways.by_cores.with_others[way.cores.index()] {
            let (mut fewer, mut is_settled) = (NOTHING, self.is_settled[cores.index()]);
            for fewer_cores in self.ways.by_cores.fewer.than(cores) {
                is_settled |= self.is_settled[fewer_cores.index()];
                let one = self.best[fewer_cores.index()];
                fewer = if one.rate > fewer.rate { one } else { fewer };
            }
            self.is_settled[cores.index()] = is_settled;
            if is_settled {
                continue;
            }
            let before = self.best[(cores - way.cores).index()];
            let may_add = cores == way.cores || self.problem.settings.has_replicas && before.step.is_some();
            let rate = if may_add { before.rate + more } else { 0.0 };
            let best = self.best[cores.index()].rate;
            if rate > best && rate > fewer.rate {
                let step = self.add_step(Step { way: way.id, before: before.step });
                self.best[cores.index()] = ReachedRate { rate, step: Some(step) };
                changed.push(cores);
            } else if fewer.rate > best {
                self.best[cores.index()] = fewer;
            }
        }
    }

    /// Keeps a step, and returns how it is found again.
    fn add_step(&mut self, step: Step) -> StepId {
        let id = StepId(self.steps.len() as u32);
        self.steps.push(step);
        id
    }

    /// The ways that steps up to this one have added.
    fn replicas(&mut self, last_step: StepId, multisets: &mut Multisets) -> MultisetId {
        self.multisets.resize(self.steps.len(), None);
        let of_steps = &mut self.multisets;
        let is_new = |step: &StepId| of_steps[step.0 as usize].is_none();
        let before = |step: &StepId| self.steps[step.0 as usize].before;
        let new: Vec<StepId> = std::iter::successors(Some(last_step), before).take_while(is_new).collect();
        for StepId(step) in new.into_iter().rev() {
            let Step { way, before } = self.steps[step as usize];
            let fewer = before.and_then(|StepId(before)| of_steps[before as usize]);
            of_steps[step as usize] = Some(multisets.with_one_more(fewer, way));
        }
        of_steps[last_step.0 as usize].unwrap_or(MultisetId::NONE)
    }

    /// Rates are added up in the order in which plans do it, for the same last digits.
    fn period(&mut self, replicas: &[WayId], StageBlocks { senders, blocks }: StageBlocks) -> Nanoseconds {
        self.times.clear();
        self.times.extend(replicas.iter().filter_map(|&way| self.problem.time(way, senders, blocks)));
        if self.problem.has_links() {
            shared_period(&self.times, &self.problem.links(replicas, senders, blocks))
        } else {
            replicated_period(&self.times)
        }
    }

    /// Adds the options of so many cores.
    fn keep_new(
        &mut self,
        cores: Cores,
        stage: StageBlocks,
        multisets: &mut Multisets,
        options: &mut Vec<SizedOption>,
    ) {
        let mut shortest = Nanoseconds(u64::MAX);
        let candidates = std::mem::take(&mut self.candidates[cores.index()]);
        for &Candidate { latency, least_period, last_step } in &candidates {
            if least_period >= shortest {
                continue;
            }
            let replicas = self.replicas(last_step, multisets);
            let period = self.period(multisets.at(replicas), stage);
            if period < shortest {
                shortest = period;
                let option = StageOption { period, latency, power: StagePower::default(), replicas };
                options.push(SizedOption { cores, option });
            }
        }
        // Its memory is of use to the next stage.
        self.candidates[cores.index()] = candidates;
    }
}
