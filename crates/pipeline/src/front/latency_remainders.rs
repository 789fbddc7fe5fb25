//! The least latency of what is left of a pipeline.

use millstream_partition::BlockId;

use crate::board::core_sets::CoreSet;
use crate::board::cores::Cores;
use crate::front::needed_cores::{NeededCores, Runs};
use crate::front::stages_within::{StageWithin, StagesWithin};
use crate::options::ways_by_cores::FewerCores;
use crate::problem::Problem;
use crate::ways::prefixes::{PrefixId, PrefixTable, Prefixes};

/// For each prefix and number of cores, the least latency that the blocks from there on take on so many cores or fewer
/// under some bound on the period. Those that a pipeline leaves under a lower bound take no less.
///
/// Only numbers of cores that may be left ([`NeededCores`]) are gone through. Of more cores than these, it is the least
/// of those that are not more: a lower bound for whatever a pipeline leaves there.
pub(crate) struct LatencyRemainders {
    /// In nanoseconds; infinite where no stages fit. Floats, as processors have a packed minimum of them, and of 64-bit
    /// whole numbers only from AVX-512 on. Whole numbers below 2^53 add up exactly.
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

    /// Makes one as large as it is known to be at least.
    pub(crate) fn raise(&mut self, prefix: PrefixId, cores: Cores, at_least: f64) {
        let least = &mut self.least[(prefix, cores)];
        *least = least.max(at_least);
    }

    /// Sums that finding them took.
    pub(crate) fn steps(&self) -> u64 {
        self.steps
    }

    /// Finds them under the present bound, from the last block on.
    pub(crate) fn find(&mut self, stages: &StagesWithin<'_>, blocks: usize, compatible: &[CoreSet]) {
        self.steps = self.needed.find(stages, blocks, compatible);
        for start in (0..blocks).rev().map(BlockId::new) {
            for (_, prefix) in self.prefixes.after(start) {
                self.least.row_and_later(prefix).0.fill(f64::INFINITY);
                for row in stages.rows_after(prefix).map(|row_index| stages.row(row_index)) {
                    row.stages.iter().for_each(|stage| self.add(start, prefix, row.blocks.end(), stage));
                }
                self.complete(start, prefix, stages.fewer());
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
    fn complete(&mut self, start: BlockId, prefix: PrefixId, fewer: &FewerCores) {
        let Self { least, runs, needed, finite, steps, .. } = self;
        let (least, _) = least.row_and_later(prefix);
        for (run, &left) in needed.left(start).iter().enumerate() {
            let begin = run * runs.length;
            for place in begin + left..begin + runs.length {
                let fewer = fewer.than(Cores::at(place)).iter().map(|fewer| least[fewer.index()]);
                least[place] = fewer.fold(f64::INFINITY, f64::min);
            }
            *steps += (runs.length - left) as u64;
            let finite_from = least[begin..][..runs.length].iter().position(|least| least.is_finite());
            finite[prefix.index() * runs.count + run] = finite_from.unwrap_or(runs.length);
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use millstream_cost::Nanoseconds;

    use super::*;
    use crate::front::pareto_front::tests::problem;
    use crate::options::stage_options::StageOptions;
    use crate::options::useful_ways::UsefulWays;
    use crate::period::period_search::ShortestStages;

    /// The least latency from each block on, on each number of cores, with nothing left out.
    pub(crate) fn all_remainders(problem: &Problem, stages: &StagesWithin<'_>) -> Vec<Vec<f64>> {
        let counts = problem.counts();
        let mut least = vec![vec![0.0; counts.len()]; problem.blocks() + 1];
        for start in (0..problem.blocks()).rev() {
            let prefix = problem.prefixes().first_after(BlockId::new(start));
            for cores in counts.all() {
                let rows = stages.rows_after(prefix).map(|row_index| stages.row(row_index));
                let with = rows.flat_map(|row| row.stages.iter().map(move |stage| (row.blocks.end(), stage)));
                let fitting = with.filter(|(_, stage)| counts.are_within(stage.cores, cores));
                let after = |(end, stage): (BlockId, &StageWithin)| {
                    stage.value.latency.0 as f64 + least[end.index()][(cores - stage.cores).index()]
                };
                least[start][cores.index()] = fitting.map(after).fold(f64::INFINITY, f64::min);
            }
        }
        least
    }

    /// For numbers of cores that may be left, they are what they are if nothing is left out; fewer may be left under a
    /// lower bound.
    #[test]
    fn what_may_be_left_has_its_own_least_latency() {
        let problem = problem(4);
        let ways = UsefulWays::of(&problem);
        let shortest = ShortestStages::of(&problem, &ways).unwrap().period;
        let options = StageOptions::by_time_above(&problem, &ways, shortest);
        let mut stages = StagesWithin::new(&problem, &options, &ways.by_cores.fewer);
        let mut remainders = LatencyRemainders::new(&problem);
        let compatible = CoreSet::with_room_for_each(problem.counts());
        let mut counted = Vec::new();
        for bound in [u64::MAX - 1, 2 * shortest.0, shortest.0] {
            stages.tighten(Nanoseconds(bound));
            stages.replace_all_broken();
            remainders.find(&stages, problem.blocks(), &compatible);

            let all = all_remainders(&problem, &stages);
            let mut needed = 0;
            for done in (0..problem.blocks()).map(BlockId::new) {
                for cores in problem.counts().all() {
                    let found = remainders.at(problem.prefixes().first_after(done), cores);
                    let (run, place) = remainders.runs.place(cores);
                    if place < remainders.needed.left(done)[run] {
                        needed += 1;
                        assert_eq!(found, all[done.index()][cores.index()], "{done:?} {cores:?}");
                    } else {
                        assert!(found >= all[done.index()][cores.index()]);
                    }
                }
            }
            counted.push((needed, remainders.steps()));
        }
        assert!(counted.is_sorted_by(|wide, narrow| wide.0 > narrow.0 && wide.1 > narrow.1), "{counted:?}");
    }
}
