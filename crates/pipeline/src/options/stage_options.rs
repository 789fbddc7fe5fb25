//! The ways to run each possible stage: what all searches choose from.

use std::sync::Arc;

use millstream_cost::Nanoseconds;
use millstream_partition::BlockRange;

use crate::board::cores::Cores;
use crate::board::senders::Senders;
use crate::options::allocations::Allocations;
use crate::options::energy_allocations::EnergyAllocations;
use crate::options::useful_ways::UsefulWays;
use crate::problem::Problem;
use crate::times::stage_places::StagePlaces;
use crate::ways::multisets::{MultisetId, Multisets};
use crate::ways::stage_blocks::StageBlocks;
use crate::ways::stage_option::{SizedOption, StageOption};
use crate::ways::way::WayId;

/// For all senders, every range of blocks and every number of cores, the options that no other beats.
///
/// An option on fewer cores may beat one on more: it leaves more for other stages, and is no worse a sender, as the
/// stage after it counts with the slowest of its senders.
pub(crate) struct StageOptions {
    /// By senders, then by range, then by number of cores. Those of the same stage on as many cores have rising
    /// latencies, and falling periods in a table by time alone.
    pub(super) options: Vec<StageOption>,
    /// Where the options of each of the senders, range and number of cores begin, and the end of all.
    pub(super) begins: Vec<usize>,
    places: StagePlaces,
    /// How many numbers of cores there are.
    sizes: usize,
    multisets: Arc<Multisets>,
}

impl StageOptions {
    /// Options that no other beats in latency or period.
    pub(crate) fn by_time(problem: &Problem) -> Self {
        Self::by_time_above(problem, &UsefulWays::of(problem), Nanoseconds::ZERO)
    }

    /// Options that no other beats in latency or period, as far as pipelines use them whose period is not below the
    /// floor.
    pub(crate) fn by_time_above(problem: &Problem, ways: &UsefulWays, floor: Nanoseconds) -> Self {
        let mut allocations = Allocations::new(problem, ways);
        problem.with_known_options(|known| {
            let mut table = Self::collect(problem, |stage, found| {
                found.extend_from_slice(allocations.options(known, stage, floor));
            });
            table.multisets = Arc::clone(&known.multisets);
            table
        })
    }

    /// Options that no other beats in latency, period, or what they draw.
    pub(crate) fn by_time_and_energy(problem: &Problem) -> Self {
        let mut allocations = EnergyAllocations::new(problem);
        let mut table = Self::collect(problem, |stage, found| allocations.options(stage, found));
        table.multisets = Arc::new(allocations.multisets);
        table
    }

    /// `of_stage` adds the options of a stage, by ascending cores.
    fn collect(problem: &Problem, mut of_stage: impl FnMut(StageBlocks, &mut Vec<SizedOption>)) -> Self {
        let (places, sizes) = (problem.stage_places(), problem.counts().len());
        let (mut options, mut begins, mut options_of_stage) = (Vec::new(), Vec::new(), Vec::new());
        for stage in places.all() {
            options_of_stage.clear();
            if stage.is_possible() {
                of_stage(stage, &mut options_of_stage);
            }
            let mut options_left = options_of_stage.iter().peekable();
            for cores in problem.counts().all() {
                begins.push(options.len());
                while let Some(sized) = options_left.next_if(|sized| sized.cores == cores) {
                    options.push(sized.option);
                }
            }
        }
        begins.push(options.len());
        Self { options, begins, places, sizes, multisets: Arc::default() }
    }

    /// The place of the first number of cores of a range.
    #[inline]
    pub(crate) fn row(&self, senders: Senders, blocks: BlockRange) -> usize {
        self.places.of(senders, blocks) * self.sizes
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
}

/// The options of one stage.
pub(crate) struct OptionsOfStage<'a> {
    all: &'a StageOptions,
    row: usize,
}

impl OptionsOfStage<'_> {
    /// Of the options on so many cores, from a place among all options on or from the first of them, the one with the
    /// lowest latency whose period is within a bound, and its place.
    #[inline]
    pub(crate) fn first_within(
        &self,
        cores: Cores,
        from: Option<usize>,
        bound: Nanoseconds,
    ) -> Option<(usize, &StageOption)> {
        let begins = &self.all.begins[self.row + cores.index()..][..2];
        let from = from.unwrap_or(begins[0]);
        // From one bound to the next, few break it: nearly always it is one of the first.
        let first = self.all.options[from..begins[1]].iter().position(|option| option.period <= bound)?;
        Some((from + first, &self.all.options[from + first]))
    }
}
