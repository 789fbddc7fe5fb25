//! Stages under a bound on the period, and which of them prices for cores rule out.

use millstream_partition::{BlockId, BlockRange};

use crate::Problem;
use crate::cores::Cores;
use crate::senders::Senders;
use crate::stage_options::StageOptions;

/// Changes of prices before the first point of a front, and before each other one.
const FIRST_ROUNDS: usize = 40;
const ROUNDS: usize = 6;
/// How far above the bound one aims with a change of prices, in terms of the bound.
const FIRST_AIM: f64 = 0.05;

/// What no stage has: a latency and a period.
const UNREACHED: (u64, u64) = (u64::MAX, u64::MAX);

/// A stage of a pipeline.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PricedStage {
    pub(crate) start: BlockId,
    pub(crate) senders: Senders,
    pub(crate) end: BlockId,
    /// What it is to the stage after it.
    pub(crate) next: Senders,
    pub(crate) cores: Cores,
    pub(crate) latency: u64,
    pub(crate) period: u64,
    /// Which of the options it is.
    pub(crate) option: usize,
}

/// All stages whose periods are within a bound and that no stage on fewer cores beats, with prices for cores.
///
/// If cores may be had at a price, how many of them the others use does not matter, and the cheapest way to go through the blocks is found
/// by going through them once. A pipeline pays no more for its cores than all cores of the board cost: so without that sum, the cheapest way
/// is a bound on the latency of every pipeline, and so is the cheapest way with some stage on the latency of those that have it.
pub(crate) struct PricedStages<'a> {
    problem: &'a Problem,
    options: &'a StageOptions,
    fewer: &'a [Vec<Cores>],
    /// What a stage on so many cores is to the stage after it.
    next: Vec<Senders>,
    bound: u64,
    /// By starts, senders and ends.
    rows: Vec<Row>,
    /// Of each cluster's cores.
    prices: Vec<f64>,
    /// Of each number of cores.
    price_of: Vec<f64>,
    /// By blocks done, and what the last stage is to the next: the least that comes before, and after.
    before: Vec<f64>,
    after: Vec<f64>,
    /// Changes of prices the next time.
    rounds: usize,
}

/// The stages of one range of blocks.
struct Row {
    start: BlockId,
    senders: Senders,
    end: BlockId,
    stages: Vec<PricedStage>,
    /// The longest period of them.
    longest: u64,
}

/// What a set of prices gives.
struct Priced {
    bound: f64,
    /// Per cluster: cores that the cheapest way takes, less those there are.
    excess: Vec<f64>,
}

impl<'a> PricedStages<'a> {
    /// Without a bound, and with nothing to pay.
    pub(crate) fn new(problem: &'a Problem, options: &'a StageOptions, fewer: &'a [Vec<Cores>]) -> Self {
        let states = (problem.blocks() + 1) * problem.all_senders().count();
        let mut rows = Vec::new();
        for start in (0..problem.blocks()).map(BlockId::new) {
            for senders in problem.all_senders().filter(|own| start.index() > 0 || *own == Senders::NETWORK) {
                let row = |end| Row { start, senders, end, stages: Vec::new(), longest: u64::MAX };
                rows.extend((start.index() + 1..=problem.blocks()).map(BlockId::new).map(row));
            }
        }
        let mut stages = Self {
            problem,
            options,
            next: problem.counts.all().map(|cores| problem.senders_on(cores)).collect(),
            fewer,
            bound: u64::MAX,
            rows,
            prices: vec![0.0; problem.clusters()],
            price_of: vec![0.0; problem.counts.len()],
            before: vec![f64::INFINITY; states],
            after: vec![f64::INFINITY; states],
            rounds: FIRST_ROUNDS,
        };
        stages.tighten(u64::MAX - 1);
        stages
    }

    /// The bound on the period.
    pub(crate) fn bound(&self) -> u64 {
        self.bound
    }

    /// Lowers the bound on the period.
    pub(crate) fn tighten(&mut self, bound: u64) {
        self.bound = bound;
        let mut reached = Vec::new();
        for place in 0..self.rows.len() {
            if self.rows[place].longest > bound {
                self.show(place, &mut reached);
            }
        }
    }

    /// Finds the stages of a row anew. `reached` is for their latencies and periods, by numbers of cores.
    fn show(&mut self, place: usize, reached: &mut Vec<(u64, u64)>) {
        let Row { start, senders, end, stages, longest } = &mut self.rows[place];
        stages.clear();
        *longest = 0;
        reached.clear();
        reached.push(UNREACHED);
        let options = self.options.of_stage(*senders, BlockRange::new(*start, *end));
        for cores in self.problem.counts.all().skip(1) {
            let fewer = self.fewer[cores.index()].iter().map(|fewer| reached[fewer.index()]).min();
            let fewer = fewer.unwrap_or(UNREACHED);
            let own = options.first_within(cores, self.bound).filter(|(_, own)| (own.latency.0, own.period.0) < fewer);
            let Some((option, own)) = own else {
                reached.push(fewer);
                continue;
            };
            let (latency, period) = (own.latency.0, own.period.0);
            reached.push((latency, period));
            *longest = (*longest).max(period);
            let next = self.next[cores.index()];
            let (start, senders, end) = (*start, *senders, *end);
            stages.push(PricedStage { start, senders, end, next, cores, latency, period, option });
        }
    }

    /// Changes the prices so that the bound on the latency becomes higher (subgradients).
    pub(crate) fn price(&mut self) {
        let mut best = self.prices.clone();
        let Some(mut now) = self.pay(&best) else { return };
        let (mut highest, mut aim) = (now.bound, FIRST_AIM);
        for _ in 0..std::mem::replace(&mut self.rounds, ROUNDS) {
            let matters = |(price, excess): (&f64, &f64)| if *price > 0.0 || *excess > 0.0 { *excess } else { 0.0 };
            let excess: Vec<f64> = self.prices.iter().zip(&now.excess).map(matters).collect();
            let square: f64 = excess.iter().map(|excess| excess * excess).sum();
            if square == 0.0 {
                break;
            }
            let step = aim * highest.max(1.0) / square;
            let prices: Vec<f64> =
                self.prices.iter().zip(excess).map(|(own, more)| (own + step * more).max(0.0)).collect();
            let Some(priced) = self.pay(&prices) else { break };
            now = priced;
            match now.bound > highest {
                true => (highest, best) = (now.bound, prices),
                false => aim *= 0.6,
            }
        }
        self.pay(&best);
        self.look_back();
    }

    /// A bound on the latency of all pipelines; `None` if there is none.
    pub(crate) fn least_latency(&self) -> Option<f64> {
        let least = self.least_after(BlockId::new(0), Senders::NETWORK);
        least.is_finite().then(|| least.max(0.0))
    }

    /// What stages from here on add at least to the latency and to what the cores before them cost.
    pub(crate) fn least_after(&self, done: BlockId, senders: Senders) -> f64 {
        self.after[self.state(done, senders)] - self.price_of(self.problem.counts.most().index())
    }

    /// What so many cores cost.
    pub(crate) fn price_of(&self, cores: usize) -> f64 {
        self.price_of[cores]
    }

    /// The stages that may belong to a pipeline of no more than some latency, by starts and then by senders.
    pub(crate) fn within(&self, most: f64) -> Vec<PricedStage> {
        let all = self.price_of(self.problem.counts.most().index());
        let is_within = |own: &&PricedStage| {
            let before = self.before[self.state(own.start, own.senders)];
            let paid = own.latency as f64 + self.price_of[own.cores.index()];
            before + paid + self.after[self.state(own.end, own.next)] - all <= most
        };
        self.rows.iter().flat_map(|row| &row.stages).filter(is_within).copied().collect()
    }

    fn state(&self, done: BlockId, senders: Senders) -> usize {
        done.index() * self.problem.all_senders().count() + senders.index()
    }

    /// Sets prices, and finds the cheapest way through the blocks; `None` if there is none.
    fn pay(&mut self, prices: &[f64]) -> Option<Priced> {
        self.prices.copy_from_slice(prices);
        let mut filled = 1;
        for (price, own) in prices.iter().zip(&self.problem.clusters) {
            for place in filled..filled * (own.count + 1) {
                self.price_of[place] = self.price_of[place % filled] + price * (place / filled) as f64;
            }
            filled *= own.count + 1;
        }
        let mut last: Vec<Option<(usize, usize)>> = vec![None; self.before.len()];
        let kinds = self.problem.all_senders().count();
        self.before.fill(f64::INFINITY);
        self.before[0] = 0.0;
        for (place, row) in self.rows.iter().enumerate() {
            let before = self.before[row.start.index() * kinds + row.senders.index()];
            let to = row.end.index() * kinds;
            for (own, stage) in row.stages.iter().enumerate() {
                let paid = before + stage.latency as f64 + self.price_of[stage.cores.index()];
                if paid < self.before[to + stage.next.index()] {
                    self.before[to + stage.next.index()] = paid;
                    last[to + stage.next.index()] = Some((place, own));
                }
            }
        }
        let ends = self.problem.blocks() * kinds..self.before.len();
        let mut state = ends.min_by(|one, other| self.before[*one].total_cmp(&self.before[*other]))?;
        let bound = self.before[state] - self.price_of(self.problem.counts.most().index());
        let mut excess: Vec<f64> = self.problem.clusters.iter().map(|own| -(own.count as f64)).collect();
        while let Some((place, own)) = last[state] {
            let PricedStage { start, senders, cores, .. } = self.rows[place].stages[own];
            let used = self.problem.counts.decode(cores);
            excess.iter_mut().zip(used).for_each(|(excess, used)| *excess += used as f64);
            state = start.index() * kinds + senders.index();
        }
        bound.is_finite().then_some(Priced { bound, excess })
    }

    /// Finds what comes after each state at least.
    fn look_back(&mut self) {
        let kinds = self.problem.all_senders().count();
        self.after.fill(f64::INFINITY);
        self.after[self.problem.blocks() * kinds..].fill(0.0);
        for row in self.rows.iter().rev() {
            let after = &self.after[row.end.index() * kinds..];
            let paid = |stage: &PricedStage| {
                stage.latency as f64 + self.price_of[stage.cores.index()] + after[stage.next.index()]
            };
            let least = row.stages.iter().map(paid).fold(f64::INFINITY, f64::min);
            let own = &mut self.after[row.start.index() * kinds + row.senders.index()];
            *own = own.min(least);
        }
    }
}
