//! The least latency of what is left of a pipeline.

use millstream_partition::BlockId;

use crate::board::cores::Cores;
use crate::front::stages_within::StagesWithin;
use crate::problem::Problem;
use crate::ways::prefixes::{PrefixId, PrefixTable, Prefixes};

/// For each prefix and number of cores, the least latency that the blocks from there on take on so many cores or fewer
/// under some bound on the period. Under a lower bound they take no less.
pub(crate) struct LatencyRemainders {
    /// In nanoseconds; infinite where no stages fit. Floats, as processors have a packed minimum of them, and of 64-bit
    /// whole numbers only from AVX-512 on. They decide what is looked at, and no result ([`FrontSearch`]).
    ///
    /// [`FrontSearch`]: crate::front::front_search::FrontSearch
    least: PrefixTable<f64>,
    prefixes: Prefixes,
    /// Sums that finding them takes.
    steps: u64,
    /// Per number of cores.
    compatible: Vec<RoomBeside>,
}

/// The numbers of cores that leave room for one: runs that differ in the cores of the first cluster only, which stand
/// one after the other.
struct RoomBeside {
    /// Where runs begin.
    begins: Vec<usize>,
    /// The length of each.
    length: usize,
}

impl LatencyRemainders {
    pub(crate) fn new(problem: &Problem) -> Self {
        let (prefixes, sizes) = (problem.prefixes(), problem.counts().len());
        let first = problem.processors.clusters.first().map_or(1, |first| first.count + 1);
        let room = |cores: Cores| {
            let all = problem.counts().with_room_for(cores);
            let begins: Vec<usize> = all.iter().map(|cores| cores.index()).filter(|cores| cores % first == 0).collect();
            let length = all.len() / begins.len().max(1);
            RoomBeside { begins, length }
        };
        let compatible = problem.counts().all().map(room).collect();
        Self { least: PrefixTable::filled(prefixes, sizes, 0.0), prefixes, steps: 0, compatible }
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
        for start in (0..blocks).rev().map(BlockId::new) {
            for (_, prefix) in self.prefixes.after(start) {
                let (least, later) = self.least.row_and_later(prefix);
                least.fill(f64::INFINITY);
                for row in stages.rows_after(prefix).map(|row_index| stages.row(row_index)) {
                    for stage in &row.stages {
                        let from = later.of(self.prefixes.id(row.blocks.end(), stage.next));
                        let RoomBeside { begins, length } = &self.compatible[stage.cores.index()];
                        let latency = stage.value.latency.0 as f64;
                        for &begin in begins {
                            let reached = &mut least[begin + stage.cores.index()..][..*length];
                            reached
                                .iter_mut()
                                .zip(&from[begin..])
                                .for_each(|(least, left)| *least = least.min(left + latency));
                        }
                        self.steps += (begins.len() * length) as u64;
                    }
                }
            }
        }
    }
}
