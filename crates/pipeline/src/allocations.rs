//! How the cores of a stage are divided among replicas.

use std::collections::HashMap;
use std::ops::Range;

use millstream_cost::Nanoseconds;
use millstream_schedule::{replicated_period, shared_period};

use crate::Problem;
use crate::problem::UNSUPPORTED;
use crate::range_table::{place, ranges};
use crate::senders::Senders;
use crate::stage_options::StageOption;
use crate::undominated::keep_undominated;

/// The best replicas of a stage for every number of cores and every latency.
///
/// Within a latency, those replicas may be chosen that are no slower, and of these the rates add up: the highest rate for each number of
/// cores is found by dynamic programming over numbers of cores (an unbounded knapsack). Ways come in order of their times, each changing
/// what was reached without it, so that the highest rates for every latency are met on the way.
pub(crate) struct Allocations<'a> {
    problem: &'a Problem,
    ways: Vec<Way>,
    /// For each number of cores that a way may have, all numbers that have room for it, ascending.
    room: Vec<Vec<usize>>,
    /// Numbers of cores with one core less somewhere.
    fewer: Vec<Vec<usize>>,
    /// The rest is of one range of blocks. Per number of cores: the highest rate so far.
    best: Vec<Reached>,
    /// How rates were reached.
    steps: Vec<Step>,
    /// Per number of cores: what it can do, by rising latency and falling period.
    found: Vec<Vec<Candidate>>,
    /// Per number of cores: latency and period of what so many or fewer can do.
    reach: Vec<Vec<(u64, u64)>>,
}

/// A class or a team.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Way {
    number: usize,
    /// Its encoded numbers of cores.
    size: usize,
    time: u64,
}

#[derive(Clone, Copy)]
struct Reached {
    rate: f64,
    step: usize,
}

/// One more replica.
#[derive(Clone, Copy)]
struct Step {
    way: usize,
    before: usize,
}

#[derive(Clone, Copy)]
struct Candidate {
    latency: u64,
    period: u64,
    step: usize,
}

const NO_STEP: usize = usize::MAX;
const NOTHING: Reached = Reached { rate: 0.0, step: NO_STEP };

impl<'a> Allocations<'a> {
    pub(crate) fn new(problem: &'a Problem) -> Self {
        let sizes = problem.counts.len();
        let mut ways = Vec::new();
        for cluster in 0..problem.clusters() {
            for (cores, number) in problem.classes_of(cluster).enumerate() {
                ways.push(Way { number, size: problem.counts.of_cluster(cluster, cores + 1), time: 0 });
            }
        }
        let teams = problem.teams.iter().enumerate();
        ways.extend(teams.map(|(index, own)| Way { number: problem.classes.len() + index, size: own.size, time: 0 }));
        let mut room = vec![Vec::new(); sizes];
        for way in &ways {
            if room[way.size].is_empty() {
                room[way.size] = problem.counts.with_room_for(way.size).iter().map(|own| own + way.size).collect();
            }
        }
        Self {
            problem,
            ways,
            room,
            fewer: (0..sizes).map(|size| problem.counts.one_fewer(size)).collect(),
            best: vec![NOTHING; sizes],
            steps: Vec::new(),
            found: vec![Vec::new(); sizes],
            reach: vec![Vec::new(); sizes],
        }
    }

    /// Finds the best replicas of a stage on these ways.
    fn find(&mut self, ways: &[Way], senders: Senders, blocks: &Range<usize>) {
        self.best.fill(NOTHING);
        self.steps.clear();
        self.found.iter_mut().for_each(Vec::clear);
        let mut changed = Vec::new();
        for equals in ways.chunk_by(|one, other| one.time == other.time) {
            changed.clear();
            for way in equals {
                match self.problem.has_links() && self.problem.team(way.number).is_some() {
                    true => self.add_alone(way),
                    false => self.add(way, &mut changed),
                }
            }
            changed.sort_unstable();
            changed.dedup();
            for &size in &changed {
                let step = self.best[size].step;
                let period = self.period(step, senders, blocks);
                if self.found[size].last().is_none_or(|known| period < known.period) {
                    self.found[size].push(Candidate { latency: equals[0].time, period, step });
                }
            }
        }
    }

    /// The options of a stage, by their numbers of cores. Those that were found before are found again if no way of use has another time.
    pub(crate) fn options<'k>(
        &mut self,
        known: &'k mut KnownOptions,
        senders: Senders,
        blocks: &Range<usize>,
    ) -> &'k [(usize, StageOption)] {
        let mut ways = self.useful_ways(senders, blocks);
        ways.sort_unstable_by_key(|way| (way.time, way.number));
        let own = &mut known.of_stages[senders.index()][place(blocks.start, blocks.end)];
        if own.ways != ways || ways.is_empty() {
            self.find(&ways, senders, blocks);
            own.ways = ways;
            own.options.clear();
            for size in 0..self.fewer.len() {
                self.keep_new(size, &mut known.multisets, &mut own.options);
            }
        }
        &own.options
    }

    /// The ways that run the blocks and need more cores than all that are as fast.
    fn useful_ways(&mut self, senders: Senders, blocks: &Range<usize>) -> Vec<Way> {
        let mut fastest: Vec<(u64, usize)> = vec![(UNSUPPORTED, usize::MAX); self.fewer.len()];
        for way in &mut self.ways {
            way.time = self.problem.time(way.number, senders, blocks.start, blocks.end);
            fastest[way.size] = fastest[way.size].min((way.time, way.number));
        }
        // With fewer cores, and with as many.
        let mut reached: Vec<u64> = Vec::with_capacity(fastest.len());
        let mut is_useful = Vec::with_capacity(fastest.len());
        for (size, fewer) in self.fewer.iter().enumerate() {
            let before = fewer.iter().map(|&fewer| reached[fewer]).min().unwrap_or(UNSUPPORTED);
            is_useful.push(fastest[size].0 < before);
            reached.push(fastest[size].0.min(before));
        }
        let useful = |way: &&Way| is_useful[way.size] && fastest[way.size] == (way.time, way.number);
        self.ways.iter().filter(useful).copied().collect()
    }

    /// Adds a team that has its stage for itself: what several processors take over a link that others use as well is not known.
    fn add_alone(&mut self, way: &Way) {
        if self.found[way.size].last().is_none_or(|known| way.time < known.period) {
            let step = self.steps.len();
            self.steps.push(Step { way: way.number, before: NO_STEP });
            self.found[way.size].push(Candidate { latency: way.time, period: way.time, step });
        }
    }

    /// Adds replicas on one more way.
    fn add(&mut self, way: &Way, changed: &mut Vec<usize>) {
        let own = 1.0 / way.time as f64;
        for &size in &self.room[way.size] {
            let before = self.best[size - way.size];
            let is_alone = size == way.size;
            if !is_alone && (before.step == NO_STEP || !self.problem.has_replicas) {
                continue;
            }
            let rate = before.rate + own;
            if rate > self.best[size].rate {
                self.best[size] = Reached { rate, step: self.steps.len() };
                self.steps.push(Step { way: way.number, before: before.step });
                changed.push(size);
            }
        }
    }

    fn replicas(&self, mut step: usize) -> Vec<usize> {
        let mut replicas = Vec::new();
        while let Some(&Step { way, before }) = self.steps.get(step) {
            replicas.push(way);
            step = before;
        }
        replicas.sort_unstable();
        replicas
    }

    fn period(&self, step: usize, senders: Senders, blocks: &Range<usize>) -> u64 {
        let replicas = self.replicas(step);
        let time = |&way: &usize| Nanoseconds(self.problem.time(way, senders, blocks.start, blocks.end));
        let times: Vec<Nanoseconds> = replicas.iter().map(time).collect();
        let period = match self.problem.has_links() {
            true => shared_period(&times, &self.problem.links(&replicas, senders, blocks)),
            false => replicated_period(&times),
        };
        period.0
    }

    /// Adds the options of so many cores that fewer cores do not have. Sizes come in ascending order.
    fn keep_new(&mut self, size: usize, multisets: &mut Multisets, options: &mut Vec<(usize, StageOption)>) {
        let (below, from_here) = self.reach.split_at_mut(size);
        let reached = &mut from_here[0];
        reached.clear();
        self.fewer[size].iter().for_each(|&fewer| reached.extend_from_slice(&below[fewer]));
        if self.fewer[size].len() > 1 {
            keep_undominated(reached, |&pair| pair);
        }
        let known = reached.len();
        let found = std::mem::take(&mut self.found[size]);
        for candidate in &found {
            let Candidate { latency, period, step } = *candidate;
            let at = self.reach[size][..known].partition_point(|pair| pair.0 <= latency);
            let shortest_below = at.checked_sub(1).map_or(u64::MAX, |at| self.reach[size][at].1);
            if period < shortest_below {
                self.reach[size].push((latency, period));
                let configuration = multisets.place(self.replicas(step));
                options.push((size, StageOption { period, latency, configuration }));
            }
        }
        self.found[size] = found;
        if self.reach[size].len() > known && known > 0 {
            keep_undominated(&mut self.reach[size], |&pair| pair);
        }
    }
}

/// Options that were found, by senders and range, for searches that ask again and again.
#[derive(Debug, Clone)]
pub(crate) struct KnownOptions {
    of_stages: Vec<Vec<KnownStage>>,
    pub(crate) multisets: Multisets,
}

#[derive(Debug, Clone, Default)]
struct KnownStage {
    /// What they were found from, by rising times.
    ways: Vec<Way>,
    options: Vec<(usize, StageOption)>,
}

impl KnownOptions {
    pub(crate) fn new(problem: &Problem) -> Self {
        let of_senders = |_| vec![KnownStage::default(); ranges(problem.blocks()).count()];
        Self { of_stages: problem.all_senders().map(of_senders).collect(), multisets: Multisets::default() }
    }
}

/// Multisets of classes and teams that have become options.
#[derive(Debug, Clone, Default)]
pub(crate) struct Multisets {
    all: Vec<Vec<usize>>,
    places: HashMap<Vec<usize>, usize>,
}

impl Multisets {
    pub(crate) fn at(&self, place: usize) -> &[usize] {
        &self.all[place]
    }

    fn place(&mut self, multiset: Vec<usize>) -> usize {
        if let Some(&known) = self.places.get(&multiset) {
            return known;
        }
        self.all.push(multiset.clone());
        self.places.insert(multiset, self.all.len() - 1);
        self.all.len() - 1
    }
}
