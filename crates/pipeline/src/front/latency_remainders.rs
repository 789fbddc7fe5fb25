//! The least latency of what is left of a pipeline.

use millstream_partition::BlockId;

use crate::board::cores::Cores;
use crate::front::needed_cores::{NeededCores, Runs};
use crate::front::stages_within::{StageWithin, StagesWithin};
use crate::problem::Problem;
use crate::ways::prefixes::{PrefixId, PrefixTable, Prefixes};

/// For each prefix and number of cores, the least latency that the blocks from there on take on so many cores or fewer
/// under some bound on the period. Under a lower bound they take no less.
///
/// Where no pipeline of the first blocks leaves so many cores, it is the least of what is left by any that leaves no
/// more.
pub(crate) struct LatencyRemainders {
    /// In nanoseconds; infinite where no stages fit. Floats, as processors have a packed minimum of them, and of 64-bit
    /// whole numbers only from AVX-512 on. They decide what is looked at, and no result ([`FrontSearch`]).
    ///
    /// [`FrontSearch`]: crate::front::front_search::FrontSearch
    least: PrefixTable<f64>,
    prefixes: Prefixes,
    /// Sums that finding them takes.
    steps: u64,
    runs: Runs,
    needed: NeededCores,
    /// Per number of cores.
    compatible: Vec<RoomBeside>,
    /// By prefixes, then by runs: where those that are finite begin. From there on, all of a run are.
    finite: Vec<usize>,
}

/// The numbers of cores that leave room for one, in runs.
struct RoomBeside {
    /// Which.
    runs: Vec<usize>,
    /// How many of each.
    length: usize,
}

impl LatencyRemainders {
    pub(crate) fn new(problem: &Problem) -> Self {
        let (prefixes, sizes, runs) = (problem.prefixes(), problem.counts().len(), Runs::of(problem));
        let room = |cores: Cores| {
            let all = problem.counts().with_room_for(cores);
            let places = all.iter().map(|&cores| runs.place(cores));
            let beside: Vec<usize> = places.filter(|(_, place)| *place == 0).map(|(run, _)| run).collect();
            let length = all.len() / beside.len().max(1);
            RoomBeside { runs: beside, length }
        };
        Self {
            least: PrefixTable::filled(prefixes, sizes, 0.0),
            prefixes,
            steps: 0,
            runs,
            needed: NeededCores::new(problem),
            compatible: problem.counts().all().map(room).collect(),
            finite: vec![0; prefixes.len() * runs.count],
        }
    }

    /// The least latency from here on.
    #[inline]
    pub(crate) fn at(&self, prefix: PrefixId, cores: Cores) -> f64 {
        self.least[(prefix, cores)]
    }

    /// Sums that finding them took.
    pub(crate) fn steps(&self) -> u64 {
        self.steps
    }

    /// Finds them under the present bound, from the last block on.
    pub(crate) fn find(&mut self, stages: &StagesWithin<'_>, blocks: usize) {
        self.steps = 0;
        self.needed.find(stages, blocks);
        for start in (0..blocks).rev().map(BlockId::new) {
            for (_, prefix) in self.prefixes.after(start) {
                self.least.row_and_later(prefix).0.fill(f64::INFINITY);
                for row in stages.rows_after(prefix).map(|row_index| stages.row(row_index)) {
                    row.stages.iter().for_each(|stage| self.add(start, prefix, row.blocks.end(), stage));
                }
                self.complete(start, prefix);
            }
        }
    }

    /// Makes those of a prefix as small as a stage does that follows it.
    fn add(&mut self, start: BlockId, prefix: PrefixId, end: BlockId, stage: &StageWithin) {
        let Self { least, prefixes, steps, runs, needed, compatible, finite } = self;
        let next = prefixes.id(end, stage.next);
        let (least, later) = least.row_and_later(prefix);
        let (from, finite) = (later.of(next), &finite[next.index() * runs.count..]);
        let (run_of_stage, place_of_stage) = runs.place(stage.cores);
        let RoomBeside { runs: beside, length } = &compatible[stage.cores.index()];
        let (left, latency) = (needed.left(start), stage.value.latency.0 as f64);
        for &run in beside {
            let first = finite[run];
            let end = (*length).min(left[run + run_of_stage].saturating_sub(place_of_stage));
            if first >= end {
                continue;
            }
            let begin = run * runs.length;
            let reached = &mut least[begin + stage.cores.index()..][first..end];
            reached
                .iter_mut()
                .zip(&from[begin..][first..end])
                .for_each(|(least, left)| *least = least.min(left + latency));
            *steps += (end - first) as u64;
        }
    }

    /// Fills in those of a prefix that are not needed, and says which are finite.
    fn complete(&mut self, start: BlockId, prefix: PrefixId) {
        let Self { least, runs, needed, finite, .. } = self;
        let (least, _) = least.row_and_later(prefix);
        for (run, &left) in needed.left(start).iter().enumerate() {
            let begin = run * runs.length;
            for place in begin + left..begin + runs.length {
                let fewer = needed.fewer(Cores::at(place)).iter().map(|fewer| least[fewer.index()]);
                least[place] = fewer.fold(f64::INFINITY, f64::min);
            }
            let finite_from = least[begin..][..runs.length].iter().position(|least| least.is_finite());
            finite[prefix.index() * runs.count + run] = finite_from.unwrap_or(runs.length);
        }
    }
}
