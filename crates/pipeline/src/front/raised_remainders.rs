//! The least latency of what is left of a pipeline, under a bound on the period that falls.

use millstream_cost::Nanoseconds;
use millstream_partition::BlockId;

use crate::board::core_sets::CoreSet;
use crate::board::cores::Cores;
use crate::front::latency_remainders::LatencyRemainders;
use crate::front::stages_within::{StageWithin, StagesWithin};
use crate::problem::Problem;
use crate::ways::prefixes::{PrefixId, PrefixTable, Prefixes};

/// What is left of a pipeline: the blocks after a prefix, and the cores that it leaves.
type Rest = (PrefixId, Cores);

/// For each prefix and number of cores that a pipeline may leave, a lower bound of the latency that the blocks from there
/// on take on so many cores or fewer under the present bound on the period.
///
/// All were exact under some earlier bound ([`LatencyRemainders`]), and are lower bounds under a lower one. Where
/// somebody asks for the exact one, the remainder with the least sum of a stage and what is left after it is raised until
/// that sum is exact, and others are left as they are. Of what is asked for again and again, few sums change from one
/// bound to the next.
///
/// The sums are of whole nanoseconds below 2^53, which floats add exactly. Raising some makes the table rise with the
/// number of cores here and there; all are lower bounds even so.
pub(crate) struct RaisedRemainders {
    found: LatencyRemainders,
    prefixes: Prefixes,
    blocks: usize,
    /// Every core.
    all: Cores,
    /// The stage that each remainder was seen to begin with.
    first_stages: PrefixTable<FirstStage>,
    /// Counts the bounds on the period, from 1.
    bounds: u32,
    /// The number of the bound under which all were found.
    found_under: u32,
    /// So many sums may be taken until all are found anew.
    steps_left: u64,
}

/// A stage, and what it leaves.
#[derive(Debug, Clone, Copy)]
struct FirstStage {
    latency: f64,
    period: Nanoseconds,
    rest: Rest,
    /// The number of the last bound under which the remainder is known to be exact.
    exact_under: u32,
}

impl FirstStage {
    const NONE: Self =
        Self { latency: 0.0, period: Nanoseconds(u64::MAX), rest: (PrefixId::NONE, Cores::NONE), exact_under: 0 };
}

/// The least sum of a stage and the remainder after it, if it is within a limit.
struct LeastSums {
    /// With the place of its row, and what is left.
    first: Option<(usize, StageWithin, Rest)>,
    first_sum: f64,
    /// No other sum is less.
    second_sum: f64,
}

impl RaisedRemainders {
    /// Those under the present bound.
    pub(crate) fn new(problem: &Problem, stages: &mut StagesWithin<'_>, compatible: &[CoreSet]) -> Self {
        let (prefixes, sizes) = (problem.prefixes(), problem.counts().len());
        let mut remainders = Self {
            found: LatencyRemainders::new(problem),
            prefixes,
            blocks: problem.blocks(),
            all: problem.counts().most(),
            first_stages: PrefixTable::filled(prefixes, sizes, FirstStage::NONE),
            bounds: 1,
            found_under: 0,
            steps_left: 0,
        };
        remainders.find(stages, compatible);
        remainders
    }

    /// A lower bound of the latency from here on.
    #[inline]
    pub(crate) fn at(&self, prefix: PrefixId, cores: Cores) -> f64 {
        self.found.at(prefix, cores)
    }

    /// Says that the bound on the period was lowered.
    pub(crate) fn tightened(&mut self) {
        self.bounds += 1;
    }

    /// The least latency of the network under the present bound; infinite if nothing keeps to it. Once raising has taken
    /// half as many sums as finding all remainders did, all are found: a sum takes longer where they are raised.
    pub(crate) fn least(&mut self, stages: &mut StagesWithin<'_>, compatible: &[CoreSet]) -> f64 {
        let network = (PrefixId::NONE, self.all);
        if !self.raise(network, f64::INFINITY, stages, compatible) {
            self.find(stages, compatible);
        }
        self.at(network.0, network.1)
    }

    fn find(&mut self, stages: &mut StagesWithin<'_>, compatible: &[CoreSet]) {
        stages.replace_all_broken();
        self.found.find(stages, self.blocks, compatible);
        self.found_under = self.bounds;
        self.steps_left = self.found.steps() / 2;
    }

    /// Raises a remainder until it is exact or above a limit; `false` if no sums are left for that.
    fn raise(&mut self, rest: Rest, limit: f64, stages: &mut StagesWithin<'_>, compatible: &[CoreSet]) -> bool {
        while !self.is_exact(rest, stages.bound()) && self.at(rest.0, rest.1) <= limit {
            if self.steps_left == 0 {
                return false;
            }
            let sums = self.least_sums(rest, limit, stages, compatible);
            let Some((row_index, stage, after)) = sums.first else {
                self.found.raise(rest.0, rest.1, sums.second_sum);
                if sums.second_sum.is_infinite() {
                    self.first_stages[rest].exact_under = self.bounds;
                }
                continue;
            };
            // What takes its place takes no less.
            if stage.value.period > stages.bound() {
                stages.replace_broken(row_index);
                continue;
            }

            let latency = stage.value.latency.0 as f64;
            self.first_stages[rest] = FirstStage { latency, period: stage.value.period, rest: after, exact_under: 0 };
            if !self.raise(after, limit.min(sums.second_sum) - latency, stages, compatible) {
                return false;
            }
            let first_sum = latency + self.at(after.0, after.1);
            self.found.raise(rest.0, rest.1, first_sum.min(sums.second_sum));
        }
        true
    }

    /// Whether a remainder is known to be exact under the present bound: the stage that it was seen to begin with keeps
    /// to it, and so do those that follow.
    fn is_exact(&mut self, rest: Rest, bound: Nanoseconds) -> bool {
        let is_done = rest.0.index() >= self.prefixes.first_after(BlockId::new(self.blocks)).index();
        let first = self.first_stages[rest];
        if is_done || self.found_under == self.bounds || first.exact_under == self.bounds {
            return true;
        }
        let is_exact = first.period <= bound
            && self.at(rest.0, rest.1) == first.latency + self.at(first.rest.0, first.rest.1)
            && self.is_exact(first.rest, bound);
        if is_exact {
            self.first_stages[rest].exact_under = self.bounds;
        }
        is_exact
    }

    /// The least sums of a stage and what is left after it, where one is within a limit. Stages are left out that come to
    /// more, or to no less than the second one, even if all cores were left after them: on fewer, what is left takes no
    /// less.
    fn least_sums(
        &mut self,
        (prefix, cores): Rest,
        limit: f64,
        stages: &StagesWithin<'_>,
        compatible: &[CoreSet],
    ) -> LeastSums {
        let used = self.all - cores;
        let mut sums = LeastSums { first: None, first_sum: f64::INFINITY, second_sum: f64::INFINITY };
        for row_index in stages.rows_after(prefix) {
            let row = stages.row(row_index);
            if row.stages.is_empty() {
                continue;
            }
            let longer = self.prefixes.after(row.blocks.end()).map(|(_, longer)| self.at(longer, cores));
            let least_after = longer.fold(f64::INFINITY, f64::min);
            let least = row.least_latency.0 as f64 + least_after;
            self.steps_left = self.steps_left.saturating_sub(1);
            if least >= sums.second_sum || least > limit {
                sums.second_sum = sums.second_sum.min(least);
                continue;
            }

            self.steps_left = self.steps_left.saturating_sub(row.stages.len() as u64);
            for stage in &row.stages {
                let latency = stage.value.latency.0 as f64;
                if latency + least_after >= sums.second_sum || !compatible[stage.cores.index()].contains(used) {
                    continue;
                }
                let after = (self.prefixes.id(row.blocks.end(), stage.next), cores - stage.cores);
                sums.add(latency + self.at(after.0, after.1), limit, (row_index, *stage, after));
            }
        }
        sums
    }
}

impl LeastSums {
    fn add(&mut self, sum: f64, limit: f64, stage: (usize, StageWithin, Rest)) {
        if sum < self.first_sum && sum <= limit {
            self.second_sum = self.second_sum.min(self.first_sum);
            (self.first, self.first_sum) = (Some(stage), sum);
        } else {
            self.second_sum = self.second_sum.min(sum);
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use millstream_cost::{CostTable, HandOver, LinkCost};
    use millstream_partition::Chain;
    use millstream_test_support::{board, chain};
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::front::latency_remainders::tests::all_remainders;
    use crate::front::pareto_front::tests::problem;
    use crate::options::stage_options::StageOptions;
    use crate::options::useful_ways::UsefulWays;
    use crate::period::period_search::ShortestStages;

    /// Under each of many bounds, it is what it is if nothing is left out, though remainders are seldom all found.
    #[test]
    fn the_least_latency_of_the_network_is_exact_under_each_bound() {
        for seed in 0..3 {
            let problem = problem(seed);
            let ways = UsefulWays::of(&problem);
            let Some(shortest) = ShortestStages::of(&problem, &ways) else { unreachable!("it has stages") };
            let options = StageOptions::by_time_above(&problem, &ways, shortest.period);
            let within = || StagesWithin::new(&problem, &options, &ways.by_cores.fewer);
            let compatible = CoreSet::with_room_for_each(problem.counts());
            let mut stages = within();
            let mut remainders = RaisedRemainders::new(&problem, &mut stages, &compatible);
            let mut found = 0;
            for part in (0..60).rev() {
                let bound = Nanoseconds(shortest.period.0 + part * shortest.period.0 / 20);
                stages.tighten(bound);
                remainders.tightened();
                let least = remainders.least(&mut stages, &compatible);

                let mut anew = within();
                anew.tighten(bound);
                anew.replace_all_broken();
                let all = all_remainders(&problem, &anew);
                assert_eq!(least, all[0][problem.counts().most().index()], "{seed} {bound:?}");
                found += usize::from(remainders.found_under == remainders.bounds);
            }
            assert!((1..8).contains(&found), "all were found for {found} of 60 bounds");
        }
    }

    /// A few layers that take little, so that sums are often the same, on clusters with links between some of them.
    pub(crate) fn linked_problem(seed: u64) -> Problem {
        const LAYERS: usize = 5;
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let graph = chain(LAYERS);
        let board = board(["B3+s3", "B2+m1+s2", "B4+s2"][seed as usize % 3]);
        let mut table = CostTable::new(LAYERS, board.processor_classes());
        for processor in table.class_ids() {
            let longest = 40 / table.classes()[processor.index()].count as u64;
            for layer in table.operator_ids() {
                table.set_time(processor, layer, Nanoseconds(random.random_range(1..=longest)));
            }
        }
        let ends: Vec<_> = table.class_ids().filter(|class| table.classes()[class.index()].count == 1).collect();
        for (from, to) in ends.iter().flat_map(|&from| ends.iter().map(move |&to| (from, to))) {
            if from != to && random.random_bool(0.7) {
                let hand_over =
                    HandOver { seconds: f64::from(random.random_range(0..12)) * 1e-9, seconds_per_byte: 0.0 };
                table.set_link(from, to, LinkCost { hand_over, occupied_seconds_per_byte: 0.0 });
            }
        }
        Problem::new(&graph, &Chain::of(&graph), &board, &table).unwrap()
    }

    /// The least latency after each prefix on each number of cores, with nothing left out.
    fn least_after(problem: &Problem, stages: &StagesWithin<'_>, prefix: PrefixId, done: BlockId, cores: Cores) -> f64 {
        if done.index() == problem.blocks() {
            return 0.0;
        }
        let rows = stages.rows_after(prefix).map(|row_index| stages.row(row_index));
        let all = rows.flat_map(|row| row.stages.iter().map(move |stage| (row.blocks.end(), stage)));
        let fitting = all.filter(|(_, stage)| problem.counts().are_within(stage.cores, cores));
        let sum = |(end, stage): (BlockId, &StageWithin)| {
            let next = problem.prefixes().id(end, stage.next);
            stage.value.latency.0 as f64 + least_after(problem, stages, next, end, cores - stage.cores)
        };
        fitting.map(sum).fold(f64::INFINITY, f64::min)
    }

    /// However soon all remainders are found anew.
    #[test]
    fn nothing_that_links_allow_is_quicker() {
        for (seed, steps_left) in (0..150).flat_map(|seed| [(seed, None), (seed, Some(0)), (seed, Some(u64::MAX))]) {
            let problem = linked_problem(seed);
            let ways = UsefulWays::of(&problem);
            let options = StageOptions::by_time_above(&problem, &ways, Nanoseconds::ZERO);
            let within = || StagesWithin::new(&problem, &options, &ways.by_cores.fewer);
            let compatible = CoreSet::with_room_for_each(problem.counts());
            let mut stages = within();
            let mut remainders = RaisedRemainders::new(&problem, &mut stages, &compatible);
            for bound in (1..90).rev().step_by(1 + seed as usize % 4).map(Nanoseconds) {
                stages.tighten(bound);
                remainders.tightened();
                remainders.steps_left = steps_left.unwrap_or(remainders.steps_left);
                let least = remainders.least(&mut stages, &compatible);

                let mut anew = within();
                anew.tighten(bound);
                anew.replace_all_broken();
                let all = problem.counts().most();
                let expected = least_after(&problem, &anew, PrefixId::NONE, BlockId::new(0), all);
                assert_eq!(least, expected, "{seed} {bound:?} {steps_left:?}");
                assert!(steps_left != Some(u64::MAX) || remainders.found_under < remainders.bounds);
            }
        }
    }
}
