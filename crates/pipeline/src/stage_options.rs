//! The ways to run each possible stage: what all searches choose from.

use std::sync::{Arc, PoisonError};

use millstream_cost::Nanoseconds;
use millstream_partition::BlockRange;

use crate::Problem;
use crate::allocations::Allocations;
use crate::cores::Cores;
use crate::energy_allocations::EnergyAllocations;
use crate::known_options::KnownOptions;
use crate::multisets::{MultisetId, Multisets};
use crate::range_table::{place, ranges};
use crate::senders::Senders;
use crate::stage_option::StageOption;
use crate::useful_ways::UsefulWays;
use crate::way::WayId;

/// For all senders, every range of blocks and every number of cores, the options that no other option beats, be it one with fewer cores:
/// that one is no worse a sender either, as the stage after it counts with the worst of its senders.
pub(crate) struct StageOptions {
    /// First those of the first senders, range and number of cores; of these by rising latency, and where nothing else counts by falling
    /// period.
    options: Vec<StageOption>,
    /// Where the options of each of the senders, range and number of cores begin, and the end of all.
    begins: Vec<usize>,
    ranges: usize,
    sizes: usize,
    multisets: Arc<Multisets>,
}

impl StageOptions {
    /// Options that no other beats in latency or period.
    pub(crate) fn by_time(problem: &Problem) -> Self {
        Self::by_time_above(problem, &UsefulWays::of(problem), Nanoseconds::ZERO)
    }

    /// The same for pipelines that have no shorter period than the floor.
    pub(crate) fn by_time_above(problem: &Problem, ways: &UsefulWays, floor: Nanoseconds) -> Self {
        let mut allocations = Allocations::new(problem, ways);
        let mut all = problem.options.lock().unwrap_or_else(PoisonError::into_inner);
        let known =
            all.entry(problem.reading).or_insert_with(|| KnownOptions::new(problem.all_senders(), problem.blocks()));
        let mut table = Self::collect(problem, |senders, blocks, found| {
            found.extend_from_slice(allocations.options(known, (senders, blocks), floor));
        });
        table.multisets = Arc::clone(&known.multisets);
        table
    }

    /// Options that no other beats in latency, period, or what they draw.
    pub(crate) fn by_time_and_energy(problem: &Problem) -> Self {
        let mut allocations = EnergyAllocations::new(problem);
        let mut table = Self::collect(problem, |senders, blocks, found| allocations.options(senders, blocks, found));
        table.multisets = Arc::new(allocations.multisets);
        table
    }

    /// `of_stage` adds the options of a stage, by ascending cores.
    fn collect(
        problem: &Problem,
        mut of_stage: impl FnMut(Senders, BlockRange, &mut Vec<(Cores, StageOption)>),
    ) -> Self {
        let sizes = problem.counts.len();
        let (mut options, mut begins, mut found) = (Vec::new(), Vec::new(), Vec::new());
        for senders in problem.all_senders() {
            for blocks in ranges(problem.blocks()) {
                found.clear();
                if !blocks.begins_chain() || senders == Senders::NETWORK {
                    of_stage(senders, blocks, &mut found);
                }
                let mut own = found.iter().peekable();
                for cores in problem.counts.all() {
                    begins.push(options.len());
                    while let Some((_, option)) = own.next_if(|own| own.0 == cores) {
                        options.push(*option);
                    }
                }
            }
        }
        begins.push(options.len());
        Self { options, begins, ranges: ranges(problem.blocks()).count(), sizes, multisets: Arc::default() }
    }

    /// The place of the first number of cores of a range.
    #[inline]
    pub(crate) fn row(&self, senders: Senders, blocks: BlockRange) -> usize {
        (senders.index() * self.ranges + place(blocks)) * self.sizes
    }

    /// The options of a stage on so many cores.
    pub(crate) fn on(&self, senders: Senders, blocks: BlockRange, cores: Cores) -> &[StageOption] {
        let row = self.row(senders, blocks) + cores.index();
        &self.options[self.begins[row]..self.begins[row + 1]]
    }

    /// The options of a stage.
    pub(crate) fn of_stage(&self, senders: Senders, blocks: BlockRange) -> OptionsOfStage<'_> {
        OptionsOfStage { all: self, row: self.row(senders, blocks) }
    }

    /// An option by its place among all.
    pub(crate) fn option(&self, place: usize) -> &StageOption {
        &self.options[place]
    }

    /// The ways of an option's replicas.
    pub(crate) fn replicas(&self, of: MultisetId) -> &[WayId] {
        self.multisets.at(of)
    }

    /// All of them, without a bound on the period.
    pub(crate) fn bounded(&self) -> BoundedOptions<'_> {
        let count = self.begins.len() - 1;
        let mut bounded = BoundedOptions {
            options: self,
            current: self.begins[..count].to_vec(),
            latency: vec![u64::MAX; count],
            period: vec![0; count],
        };
        (0..count).for_each(|index| bounded.show(index));
        bounded
    }
}

/// The options of one stage.
pub(crate) struct OptionsOfStage<'a> {
    all: &'a StageOptions,
    row: usize,
}

impl OptionsOfStage<'_> {
    /// The option on so many cores with the lowest latency whose period is within a bound, and its place among all options.
    #[inline]
    pub(crate) fn first_within(&self, cores: Cores, bound: u64) -> Option<(usize, &StageOption)> {
        let begins = &self.all.begins[self.row + cores.index()..][..2];
        let own = &self.all.options[begins[0]..begins[1]];
        let first = own.partition_point(|option| option.period.0 > bound);
        Some((begins[0] + first, own.get(first)?))
    }
}

/// For all senders, every range and number of cores the option with the lowest latency whose period is within a bound.
pub(crate) struct BoundedOptions<'a> {
    pub(crate) options: &'a StageOptions,
    /// Its index.
    pub(crate) current: Vec<usize>,
    /// Its latency in nanoseconds; `u64::MAX` if there is none.
    pub(crate) latency: Vec<u64>,
    /// Its period in nanoseconds; 0 if there is none.
    pub(crate) period: Vec<u64>,
}

impl BoundedOptions<'_> {
    /// How many are looked at together: the compiler compares them at once.
    const TOGETHER: usize = 16;

    /// Lowers the bound.
    pub(crate) fn tighten(&mut self, bound: u64) {
        for first in (0..self.period.len()).step_by(Self::TOGETHER) {
            let end = (first + Self::TOGETHER).min(self.period.len());
            if self.period[first..end].iter().fold(false, |any, &period| any | (period > bound)) {
                for index in first..end {
                    while self.period[index] > bound {
                        self.current[index] += 1;
                        self.show(index);
                    }
                }
            }
        }
    }

    fn show(&mut self, index: usize) {
        let StageOptions { options, begins, .. } = self.options;
        let current = self.current[index];
        let shown = options.get(current).filter(|_| current < begins[index + 1]);
        (self.latency[index], self.period[index]) = shown.map_or((u64::MAX, 0), |own| (own.latency.0, own.period.0));
    }
}
