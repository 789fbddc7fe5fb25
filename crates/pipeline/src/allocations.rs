//! How the cores of a stage are divided among replicas.

use std::sync::Arc;

use millstream_cost::Nanoseconds;
use millstream_partition::BlockRange;
use millstream_schedule::{replicated_period, shared_period};

use crate::Problem;
use crate::cores::Cores;
use crate::energy::StagePower;
use crate::multisets::Multisets;
use crate::range_table::RangeTable;
use crate::senders::Senders;
use crate::stage_options::StageOption;
use crate::undominated::keep_undominated;
use crate::way::WayId;
use crate::ways_by_cores::WaysByCores;

/// The best replicas of a stage for every number of cores and every latency.
///
/// Within a latency, those replicas may be chosen that are no slower, and of these the rates add up: the highest rate for each number of
/// cores is found by dynamic programming over numbers of cores (an unbounded knapsack). Ways come in order of their times, each changing
/// what was reached without it, so that the highest rates for every latency are met on the way.
pub(crate) struct Allocations<'a> {
    problem: &'a Problem,
    by_cores: WaysByCores,
    /// The rest is of one range of blocks. Per number of cores: the highest rate so far.
    best: Vec<Reached>,
    /// How rates were reached.
    steps: Vec<Step>,
    /// Per number of cores: what it can do, by rising latency.
    found: Vec<Vec<Candidate>>,
    /// Per number of cores: latency and period of what so many or fewer can do.
    reach: Vec<Vec<(Nanoseconds, Nanoseconds)>>,
}

/// A way to run a range of blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Way {
    id: WayId,
    cores: Cores,
    time: Nanoseconds,
}

#[derive(Clone, Copy)]
struct Reached {
    rate: f64,
    step: usize,
}

/// One more replica.
#[derive(Clone, Copy)]
struct Step {
    way: WayId,
    before: usize,
}

#[derive(Clone, Copy)]
struct Candidate {
    latency: Nanoseconds,
    /// A period that it does not go below.
    least_period: Nanoseconds,
    step: usize,
}

const NO_STEP: usize = usize::MAX;
const NOTHING: Reached = Reached { rate: 0.0, step: NO_STEP };

impl<'a> Allocations<'a> {
    pub(crate) fn new(problem: &'a Problem) -> Self {
        let sizes = problem.counts.len();
        Self {
            problem,
            by_cores: WaysByCores::of(problem),
            best: vec![NOTHING; sizes],
            steps: Vec::new(),
            found: vec![Vec::new(); sizes],
            reach: vec![Vec::new(); sizes],
        }
    }

    /// Finds the best replicas of a stage on these ways.
    fn find(&mut self, ways: &[Way], teams_are_alone: bool) {
        self.best.fill(NOTHING);
        self.steps.clear();
        self.found.iter_mut().for_each(Vec::clear);
        let mut changed = Vec::new();
        for equals in ways.chunk_by(|one, other| one.time == other.time) {
            changed.clear();
            for way in equals {
                match teams_are_alone && self.problem.team(way.id).is_some() {
                    true => self.add_alone(way),
                    false => self.add(way, &mut changed),
                }
            }
            changed.sort_unstable();
            changed.dedup();
            for &cores in &changed {
                let Reached { rate, step } = self.best[cores.index()];
                // Links only make it longer. Sums of rates differ by their order, by much less than a nanosecond.
                let least_period = Nanoseconds((1.0 / rate) as u64);
                self.found[cores.index()].push(Candidate { latency: equals[0].time, least_period, step });
            }
        }
    }

    /// The options of a stage, by their numbers of cores. Those that were found before are found again if no way of use has another time.
    pub(crate) fn options<'k>(
        &mut self,
        known: &'k mut KnownOptions,
        senders: Senders,
        blocks: BlockRange,
    ) -> &'k [(Cores, StageOption)] {
        let mut ways = self.useful_ways(senders, blocks);
        ways.sort_unstable_by_key(|way| (way.time, way.id));
        let own = known.of_stages[senders.index()].at_mut(blocks);
        if own.ways != ways {
            self.find(&ways, self.problem.occupies_links(senders, blocks));
            own.ways = ways;
            own.options.clear();
            for cores in self.problem.counts.all() {
                self.keep_new(cores, (senders, blocks), Arc::make_mut(&mut known.multisets), &mut own.options);
            }
        }
        &own.options
    }

    /// The ways that run the blocks and are of use in an option.
    fn useful_ways(&mut self, senders: Senders, blocks: BlockRange) -> Vec<Way> {
        let able =
            |&(id, cores): &(WayId, Cores)| Some(Way { id, cores, time: self.problem.time(id, senders, blocks)? });
        let able: Vec<Way> = self.by_cores.ways.iter().filter_map(able).collect();
        if !self.problem.occupies_links(senders, blocks) {
            return self.quicker_than_smaller(able);
        }
        // A team that can't have company takes no single processor's place among other replicas.
        let (teams, singles) = able.into_iter().partition(|way| self.problem.team(way.id).is_some());
        [self.quicker_than_smaller(singles), self.quicker_than_smaller(teams)].concat()
    }

    /// The ways that are quicker than all that need fewer cores, and the first of those that need as many.
    fn quicker_than_smaller(&self, mut ways: Vec<Way>) -> Vec<Way> {
        let mut fastest: Vec<Option<(Nanoseconds, WayId)>> = vec![None; self.by_cores.fewer.len()];
        for way in &ways {
            let fastest = &mut fastest[way.cores.index()];
            *fastest = Some(fastest.map_or((way.time, way.id), |known| known.min((way.time, way.id))));
        }
        // With so many cores or fewer.
        let mut reached: Vec<Option<Nanoseconds>> = Vec::with_capacity(fastest.len());
        for (own, fewer) in fastest.iter_mut().zip(&self.by_cores.fewer) {
            let before = fewer.iter().filter_map(|fewer| reached[fewer.index()]).min();
            *own = own.filter(|(time, _)| before.is_none_or(|before| *time < before));
            reached.push(own.map(|(time, _)| time).or(before));
        }
        ways.retain(|way| fastest[way.cores.index()] == Some((way.time, way.id)));
        ways
    }

    /// Adds a team that has its stage for itself: what several processors take over a link that others use as well is not known.
    fn add_alone(&mut self, way: &Way) {
        let step = self.steps.len();
        self.steps.push(Step { way: way.id, before: NO_STEP });
        let alone = Candidate { latency: way.time, least_period: way.time, step };
        self.found[way.cores.index()].push(alone);
    }

    /// Adds replicas on one more way.
    fn add(&mut self, way: &Way, changed: &mut Vec<Cores>) {
        let own = 1.0 / way.time.0 as f64;
        for &cores in &self.by_cores.with_others[way.cores.index()] {
            let before = self.best[(cores - way.cores).index()];
            let is_alone = cores == way.cores;
            if !is_alone && (before.step == NO_STEP || !self.problem.has_replicas) {
                continue;
            }
            let rate = before.rate + own;
            let best = &mut self.best[cores.index()];
            if rate > best.rate {
                *best = Reached { rate, step: self.steps.len() };
                self.steps.push(Step { way: way.id, before: before.step });
                changed.push(cores);
            }
        }
    }

    fn replicas(&self, mut step: usize) -> Vec<WayId> {
        let mut replicas = Vec::new();
        while let Some(&Step { way, before }) = self.steps.get(step) {
            replicas.push(way);
            step = before;
        }
        replicas.sort_unstable();
        replicas
    }

    fn period(&self, replicas: &[WayId], senders: Senders, blocks: BlockRange) -> Nanoseconds {
        let times: Vec<Nanoseconds> =
            replicas.iter().filter_map(|&way| self.problem.time(way, senders, blocks)).collect();
        match self.problem.has_links() {
            true => shared_period(&times, &self.problem.links(replicas, senders, blocks)),
            false => replicated_period(&times),
        }
    }

    /// Adds the options of so many cores that fewer cores do not have. Sizes come in ascending order.
    fn keep_new(
        &mut self,
        cores: Cores,
        (senders, blocks): (Senders, BlockRange),
        multisets: &mut Multisets,
        options: &mut Vec<(Cores, StageOption)>,
    ) {
        let size = cores.index();
        let (below, from_here) = self.reach.split_at_mut(size);
        let reached = &mut from_here[0];
        reached.clear();
        self.by_cores.fewer[size].iter().for_each(|fewer| reached.extend_from_slice(&below[fewer.index()]));
        if self.by_cores.fewer[size].len() > 1 {
            keep_undominated(reached, |&pair| pair);
        }
        let known = reached.len();
        let found = std::mem::take(&mut self.found[size]);
        let mut shortest = Nanoseconds(u64::MAX);
        for candidate in &found {
            let Candidate { latency, least_period, step } = *candidate;
            let at = self.reach[size][..known].partition_point(|pair| pair.0 <= latency);
            shortest = at.checked_sub(1).map_or(shortest, |at| shortest.min(self.reach[size][at].1));
            if least_period >= shortest {
                continue;
            }
            let replicas = self.replicas(step);
            let period = self.period(&replicas, senders, blocks);
            if period < shortest {
                shortest = period;
                self.reach[size].push((latency, period));
                let replicas = multisets.place(replicas);
                options.push((cores, StageOption { period, latency, power: StagePower::default(), replicas }));
            }
        }
        self.found[size] = found;
        if self.reach[size].len() > known && known > 0 {
            keep_undominated(&mut self.reach[size], |&pair| pair);
        }
    }
}

/// Options that were found, by senders and range, for searches that ask again and again.
#[derive(Debug)]
pub(crate) struct KnownOptions {
    of_stages: Vec<RangeTable<KnownStage>>,
    pub(crate) multisets: Arc<Multisets>,
}

#[derive(Debug, Default)]
struct KnownStage {
    /// What they were found from, by rising times.
    ways: Vec<Way>,
    options: Vec<(Cores, StageOption)>,
}

impl KnownOptions {
    pub(crate) fn new(problem: &Problem) -> Self {
        let of_senders = |_| RangeTable::of(problem.blocks(), |_| KnownStage::default());
        Self { of_stages: problem.all_senders().map(of_senders).collect(), multisets: Arc::default() }
    }
}
