//! Pipelines that hold little of the memory that all processors share.

use millstream_cost::Nanoseconds;
use millstream_partition::{BlockId, BlockRange};

use crate::board::cores::Cores;
use crate::board::senders::Senders;
use crate::plan::Plan;
use crate::problem::Problem;
use crate::problem::shared_capacity::SharedCapacity;
use crate::times::range_table::{place, ranges};
use crate::ways::way::{StageWays, WayId};

/// Beyond so many steps, one search is made instead of one for each of several periods.
const MOST_STEPS: usize = 50_000_000;

/// A stage on one processor.
#[derive(Debug, Clone, Copy)]
struct SmallStage {
    way: WayId,
    cores: Cores,
    /// The least that it takes, over all senders.
    time: Nanoseconds,
    /// What it holds of the memory.
    bytes: u64,
}

/// The stages of the first blocks on some cores.
#[derive(Debug, Clone, Copy)]
struct HeldPrefix {
    bytes: u64,
    /// What the longest of them takes.
    longest: Nanoseconds,
    /// Where the last one begins.
    start: BlockId,
    way: WayId,
}

/// A pipeline, and what it holds of the memory.
struct HeldPipeline {
    bytes: u64,
    stages: Vec<StageWays>,
}

/// What is known of pipelines of single processors, each in one stage without replicas.
pub(crate) struct LeastMemory<'a> {
    problem: &'a Problem,
    capacity: &'a SharedCapacity,
    /// By the places of ranges.
    stages: Vec<Vec<SmallStage>>,
}

impl<'a> LeastMemory<'a> {
    pub(crate) fn of(problem: &'a Problem, capacity: &'a SharedCapacity) -> Self {
        let singles: Vec<WayId> = problem.clusters().flat_map(|cluster| problem.classes_of(cluster)).collect();
        let all_senders: Vec<Senders> = problem.all_senders().collect();
        let stages_of = |blocks: BlockRange| {
            let stage = |&way: &WayId| {
                let times = all_senders.iter().filter_map(|&senders| problem.time(way, senders, blocks));
                let bytes = capacity.held_on(problem.processors(way), blocks);
                Some(SmallStage { way, cores: problem.cores(way), time: times.min()?, bytes })
            };
            singles.iter().filter_map(stage).collect()
        };
        Self { problem, capacity, stages: ranges(problem.blocks()).map(stages_of).collect() }
    }

    /// What the network holds at least; `None` if no such pipeline runs it.
    pub(crate) fn bytes(&self) -> Option<u64> {
        self.within(Nanoseconds(u64::MAX)).map(|least| least.bytes)
    }

    /// The one that holds the least and, if that fits, one of a period that is as short as is found.
    pub(crate) fn plans(&self) -> Vec<Plan> {
        let Some(least) = self.within(Nanoseconds(u64::MAX)) else { return Vec::new() };
        let bytes = least.bytes;
        let mut pipelines = vec![least.stages];
        let steps = self.stages.iter().map(Vec::len).sum::<usize>().saturating_mul(self.problem.counts().len());
        if bytes <= self.capacity.bytes() && steps <= MOST_STEPS {
            pipelines.extend(self.shortest());
        }
        pipelines.into_iter().filter_map(|stages| self.problem.plan(stages)).collect()
    }

    /// The one with the shortest stages of those that fit.
    fn shortest(&self) -> Option<Vec<StageWays>> {
        let mut times: Vec<Nanoseconds> = self.stages.iter().flatten().map(|stage| stage.time).collect();
        times.sort_unstable();
        times.dedup();
        let fits = |time: &Nanoseconds| self.within(*time).is_some_and(|found| found.bytes <= self.capacity.bytes());
        let shortest = times.partition_point(|time| !fits(time));
        self.within(*times.get(shortest)?).map(|found| found.stages)
    }

    /// The one that holds the least of all whose stages take no longer than this.
    fn within(&self, longest: Nanoseconds) -> Option<HeldPipeline> {
        let counts = self.problem.counts();
        let blocks = self.problem.blocks();
        let mut least: Vec<Vec<Option<HeldPrefix>>> = vec![vec![None; counts.len()]; blocks + 1];
        let begin = HeldPrefix { bytes: 0, longest: Nanoseconds::ZERO, start: BlockId::new(0), way: WayId::new(0) };
        least[0][Cores::NONE.index()] = Some(begin);

        for range in ranges(blocks) {
            let start = range.start();
            let (before, behind) = least.split_at_mut(range.end().index());
            for stage in self.stages[place(range)].iter().filter(|stage| stage.time <= longest) {
                for used in counts.with_room_for(stage.cores) {
                    let Some(reached) = before[start.index()][used.index()] else { continue };
                    let bytes = reached.bytes.saturating_add(stage.bytes);
                    let longest = reached.longest.max(stage.time);
                    let best = &mut behind[0][(used + stage.cores).index()];
                    if best.is_none_or(|best| (bytes, longest) < (best.bytes, best.longest)) {
                        *best = Some(HeldPrefix { bytes, longest, start, way: stage.way });
                    }
                }
            }
        }

        let ends = counts
            .all()
            .filter_map(|used| least[blocks][used.index()].map(|reached| (reached.bytes, reached.longest, used)));
        let (bytes, _, mut used) = ends.min()?;
        let (mut end, mut stages) = (BlockId::new(blocks), Vec::new());
        while end.index() > 0 {
            let HeldPrefix { start, way, .. } = least[end.index()][used.index()]?;
            stages.push(StageWays::single(BlockRange::new(start, end), way));
            (end, used) = (start, used - self.problem.cores(way));
        }
        stages.reverse();
        Some(HeldPipeline { bytes, stages })
    }
}
