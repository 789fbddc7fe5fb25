//! Para-Pipe's enumeration of stage configurations (section III-B) and its choices among them (section V-B).

use millstream_board::ProcessorClass;
use millstream_cost::Nanoseconds;
use millstream_partition::{BlockId, BlockRange};

use crate::board::senders::Senders;
use crate::error::PipelineError;
use crate::plan::Plan;
use crate::plan::undominated::keep_undominated;
use crate::problem::Problem;
use crate::published::design_space::binomial;
use crate::search::Search;
use crate::ways::way::{StageWays, WayId};

/// Which of the enumerated pipelines is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ParaPipeStrategy {
    /// One stage per processor, the highest throughput of those.
    PipeOnly,
    /// All processors in one stage.
    ParaOnly,
    /// Several stages, one of them at least of several processors: the lowest latency of those that are better than all
    /// processors in one stage in latency or in throughput, if there are such.
    HybridLatency,
    /// Of the pipelines of [`ParaPipeStrategy::HybridLatency`], the highest throughput.
    HybridThroughput,
    /// Of the pipelines of [`ParaPipeStrategy::HybridLatency`], the lowest product of latency and period.
    Balanced,
}

impl ParaPipeStrategy {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::PipeOnly, Self::ParaOnly, Self::HybridLatency, Self::HybridThroughput, Self::Balanced];

    /// Whether a pipeline with so many processors in each stage is one of these.
    fn wants(self, sizes: &[usize]) -> bool {
        let is_para = sizes.len() == 1;
        let is_pipe = sizes.iter().all(|&size| size == 1);
        match self {
            Self::PipeOnly => is_pipe,
            Self::ParaOnly => is_para,
            Self::HybridLatency | Self::HybridThroughput | Self::Balanced => !is_para && !is_pipe,
        }
    }

    /// What is to be small, first things first.
    fn measure(self, point: &Point) -> (u128, Nanoseconds) {
        let Point { latency, period, .. } = *point;
        match self {
            Self::PipeOnly | Self::HybridThroughput => (u128::from(period.0), latency),
            Self::ParaOnly | Self::HybridLatency => (u128::from(latency.0), period),
            Self::Balanced => (u128::from(latency.0) * u128::from(period.0), latency),
        }
    }
}

/// Para-Pipe's pipelines: the processors are dealt out to stages, each to exactly one, and every way to cut the network
/// is considered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParaPipe {
    /// The processors, each of which a stage may own with others. A [`Problem`] needs the teams that
    /// [`ParaPipe::teams`] lists.
    pub processors: Vec<ProcessorClass>,
    /// What to choose.
    pub strategy: ParaPipeStrategy,
}

/// Divisions of `of` things into an ordered sequence of non-empty sets, as masks.
fn ordered_partitions(of: usize) -> Vec<Vec<usize>> {
    fn extend(left: usize, chosen: &mut Vec<usize>, partitions: &mut Vec<Vec<usize>>) {
        if left == 0 {
            partitions.push(chosen.clone());
            return;
        }
        let mut set = left;
        while set > 0 {
            chosen.push(set);
            extend(left & !set, chosen, partitions);
            chosen.pop();
            set = (set - 1) & left;
        }
    }
    let mut partitions = Vec::new();
    if of > 0 {
        extend((1 << of) - 1, &mut Vec::new(), &mut partitions);
    }
    partitions
}

/// Number of pipelines of `processors` different processors over a chain of `blocks`: ways to deal processors out to
/// stages, times ways to cut.
pub fn para_pipe_points(blocks: u64, processors: u32) -> u128 {
    // Ordered partitions into so many sets: surjections, by their recurrence.
    let mut ways = vec![vec![0_u128; processors as usize + 1]; processors as usize + 1];
    ways[0][0] = 1;
    for things in 1..=processors as usize {
        for sets in 1..=things {
            ways[things][sets] = sets as u128 * (ways[things - 1][sets] + ways[things - 1][sets - 1]);
        }
    }
    let most = blocks.min(u64::from(processors));
    (1..=most).map(|stages| binomial(blocks - 1, stages - 1) * ways[processors as usize][stages as usize]).sum()
}

/// A pipeline of the first blocks: its latency and period, and where its stages end.
#[derive(Debug, Clone)]
struct Point {
    latency: Nanoseconds,
    period: Nanoseconds,
    ends: Vec<BlockId>,
}

impl ParaPipe {
    /// The sets of several processors that stages may own.
    pub fn teams(processors: &[ProcessorClass]) -> Vec<Vec<ProcessorClass>> {
        let mut teams: Vec<Vec<ProcessorClass>> = (1_usize..1 << processors.len())
            .filter(|set| set.count_ones() > 1)
            .map(|set| members(processors, set).cloned().collect())
            .collect();
        teams.sort_unstable_by(|one, other| {
            let key = |team: &[ProcessorClass]| team.iter().map(ToString::to_string).collect::<Vec<_>>();
            key(one).cmp(&key(other))
        });
        teams.dedup();
        teams
    }

    /// All trade-offs of one sequence of stages over the chain, each with one way to run it.
    fn front(problem: &Problem, ways: &[WayId]) -> Vec<Point> {
        let blocks = problem.blocks();
        let mut fronts: Vec<Vec<Point>> = vec![Vec::new(); blocks + 1];
        fronts[0].push(Point { latency: Nanoseconds::ZERO, period: Nanoseconds::ZERO, ends: Vec::new() });
        let mut senders = Senders::NETWORK;
        for &way in ways {
            let mut next: Vec<Vec<Point>> = vec![Vec::new(); blocks + 1];
            for (end, points) in next.iter_mut().enumerate().skip(1) {
                for (start, before) in fronts.iter().enumerate().take(end) {
                    let Some(time) = problem.time(way, senders, BlockRange::from(start..end)) else { continue };
                    points.extend(before.iter().map(|point| {
                        let mut ends = point.ends.clone();
                        ends.push(BlockId::new(end));
                        Point { latency: point.latency + time, period: point.period.max(time), ends }
                    }));
                }
                keep_undominated(points, |point| (point.latency, point.period));
            }
            fronts = next;
            senders = problem.senders(&[way]);
        }
        fronts.pop().unwrap_or_default()
    }
}

fn members(processors: &[ProcessorClass], set: usize) -> impl Iterator<Item = &ProcessorClass> {
    processors.iter().enumerate().filter(move |(index, _)| set >> index & 1 == 1).map(|(_, class)| class)
}

impl Search for ParaPipe {
    fn name(&self) -> &'static str {
        match self.strategy {
            ParaPipeStrategy::PipeOnly => "para-pipe pipe-only",
            ParaPipeStrategy::ParaOnly => "para-pipe para-only",
            ParaPipeStrategy::HybridLatency => "para-pipe hybrid-L",
            ParaPipeStrategy::HybridThroughput => "para-pipe hybrid-T",
            ParaPipeStrategy::Balanced => "para-pipe balanced",
        }
    }

    fn search(&self, problem: &Problem) -> Result<Plan, PipelineError> {
        // Points that another one beats in both are left out (section V-B): of hybrids, those that are no better in
        // anything than all processors in one stage, unless there are no others.
        let way_of = |set: usize| problem.way_of(&members(&self.processors, set).collect::<Vec<_>>());
        for set in 1_usize..1 << self.processors.len() {
            way_of(set).map_or(Ok(()), |way| problem.evaluate_everywhere(way))?;
        }

        let all = way_of((1 << self.processors.len()) - 1);
        let para = all.and_then(|way| problem.time(way, Senders::NETWORK, problem.costs.chain.whole()));
        let is_beaten_by_para = |point: &Point| para.is_some_and(|para| point.latency >= para && point.period >= para);

        let mut best: Option<((bool, u128, Nanoseconds), Vec<StageWays>)> = None;
        for sets in ordered_partitions(self.processors.len()) {
            let sizes: Vec<usize> = sets.iter().map(|set| set.count_ones() as usize).collect();
            if !self.strategy.wants(&sizes) {
                continue;
            }
            let Some(ways) = sets.iter().map(|&set| way_of(set)).collect::<Option<Vec<WayId>>>() else { continue };
            let is_hybrid = sizes.len() > 1 && sizes.iter().any(|&size| size > 1);
            for point in Self::front(problem, &ways) {
                let (first, second) = self.strategy.measure(&point);
                let measure = (is_hybrid && is_beaten_by_para(&point), first, second);
                if best.as_ref().is_none_or(|(least, _)| measure < *least) {
                    let starts = std::iter::once(BlockId::new(0)).chain(point.ends.iter().copied());
                    let stages = starts.zip(&point.ends).zip(&ways);
                    let stage = |((start, &end), &way)| StageWays::single(BlockRange::new(start, end), way);
                    best = Some((measure, stages.map(stage).collect()));
                }
            }
        }
        best.and_then(|(_, stages)| problem.linked_plan(stages)).ok_or(PipelineError::Infeasible)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_dealt_out_in_every_way() {
        assert_eq!([0, 1, 2, 3, 4].map(|of| ordered_partitions(of).len()), [0, 1, 3, 13, 75]);
        for sets in ordered_partitions(4) {
            assert_eq!(sets.iter().sum::<usize>(), 15, "each processor once: {sets:?}");
        }
        // Three processors, 45 subgraphs: one stage; 6 pairs of sets and 44 cuts; 6 orders and 946 pairs of cuts.
        assert_eq!(para_pipe_points(45, 3), 1 + 6 * 44 + 6 * 946);
        assert_eq!(para_pipe_points(1, 3), 1);
        assert_eq!(para_pipe_points(2, 2), 1 + 2);
    }

    #[test]
    fn strategies_tell_pipelines_apart() {
        let wanted = |sizes: &[usize]| -> Vec<ParaPipeStrategy> {
            ParaPipeStrategy::ALL.into_iter().filter(|strategy| strategy.wants(sizes)).collect()
        };
        assert_eq!(wanted(&[1, 1, 1]), [ParaPipeStrategy::PipeOnly]);
        assert_eq!(wanted(&[3]), [ParaPipeStrategy::ParaOnly]);
        assert_eq!(
            wanted(&[2, 1]),
            [ParaPipeStrategy::HybridLatency, ParaPipeStrategy::HybridThroughput, ParaPipeStrategy::Balanced]
        );
    }
}
