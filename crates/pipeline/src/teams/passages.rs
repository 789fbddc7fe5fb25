//! How a team goes through several subgraphs: each by itself, or neighbours in tiles.

use millstream_cost::Nanoseconds;
use millstream_graph::OperatorId;
use millstream_mapping::ProcessorId;
use millstream_partition::{BlockRange, SubgraphId};

use crate::teams::regions::Regions;
use crate::teams::solutions::{Ends, Solution};
use crate::teams::subgraph_range::SubgraphRange;
use crate::teams::team::Team;
use crate::teams::tiles::TileSolutions;
use crate::teams::work::TeamWork;

/// The soonest way to be done with a subgraph on a processor.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SoonestEnd {
    pub(crate) time: Nanoseconds,
    /// The first subgraph of the last passage, and the processor where it began; none at the start of a stage.
    start: SubgraphId,
    source: Option<ProcessorId>,
}

impl Team {
    /// What a range of blocks takes whose subgraphs are all known, one passage after the other.
    #[cfg(test)]
    pub(crate) fn composed(&self, blocks: BlockRange) -> Option<Nanoseconds> {
        let steps = self.steps(self.context.subgraphs_of(blocks)?);
        steps.last()?.iter().flatten().map(|reached| reached.time).min()
    }

    /// How each of these subgraphs is done soonest, per processor where it ends; `None` if it can't end there.
    pub(crate) fn steps(&self, subgraphs: SubgraphRange) -> Vec<Vec<Option<SoonestEnd>>> {
        let mut steps: Vec<Vec<Option<SoonestEnd>>> = Vec::new();
        for subgraph in subgraphs.ids() {
            let reached = self.processors().map(|end| self.reach(&steps, subgraphs.start, subgraph, end)).collect();
            steps.push(reached);
        }
        steps
    }

    /// The soonest way to be done with a subgraph on a processor: after the one before, or after a region that ends
    /// with it. `steps` are those of the subgraphs from `first` on.
    fn reach(
        &self,
        steps: &[Vec<Option<SoonestEnd>>],
        first: SubgraphId,
        subgraph: SubgraphId,
        end: ProcessorId,
    ) -> Option<SoonestEnd> {
        let from = |start: SubgraphId, source: Option<ProcessorId>, time: Nanoseconds| {
            let solution = self.passage(SubgraphRange::new(start, subgraph.next()), Ends { source, end })?;
            Some(SoonestEnd { time: time + solution.time, start, source })
        };
        let after = |start: SubgraphId| -> Option<SoonestEnd> {
            let Some(before) = start.index().checked_sub(first.index() + 1) else {
                return from(start, None, Nanoseconds::ZERO);
            };
            let reached = self.processors().zip(&steps[before]);
            let reached = reached.filter_map(|(source, reached)| Some((source, reached.as_ref()?.time)));
            reached.filter_map(|(source, time)| from(start, Some(source), time)).min_by_key(|way| way.time)
        };
        // The shortest passage comes last, so that it is taken among those that are as good.
        let earliest = Regions::earliest_start(subgraph).max(first);
        let starts = SubgraphRange::new(earliest, subgraph.next()).ids();
        starts.filter_map(after).min_by_key(|way| (way.time, std::cmp::Reverse(way.start)))
    }

    /// The best way through neighbouring subgraphs at once.
    fn passage(&self, subgraphs: SubgraphRange, ends: Ends) -> Option<&Solution> {
        let mapped = if subgraphs.len() == 1 { self.solution(subgraphs.start, ends) } else { None };
        let tiled = self.tiled(subgraphs, ends);
        mapped.into_iter().chain(tiled).min_by_key(|solution| solution.time)
    }

    /// The best way through subgraphs that are divided into tiles together, by rows or by columns.
    fn tiled(&self, subgraphs: SubgraphRange, ends: Ends) -> Option<&Solution> {
        let SubgraphRange { start, end } = subgraphs;
        let may_be_first = self.context.subgraphs_until.contains(&Some(start));
        let regions = self.context.regions.from(start).iter().zip(&self.tiles[start.index()]);
        let ways = regions.filter(|(region, _)| region.last.next() == end).filter_map(|(region, known)| {
            let find = || TileSolutions::find(&self.context, &self.class_ids, start, region, may_be_first);
            known.get_or_init(find).get(ends)
        });
        ways.min_by_key(|way| way.time)
    }

    /// The way through a subgraph between two processors.
    fn solution(&self, subgraph: SubgraphId, ends: Ends) -> Option<&Solution> {
        self.solutions[subgraph.index()].get()?.get(ends)
    }

    /// What each processor does of these blocks, all of whose subgraphs were evaluated.
    pub(crate) fn divided(&self, blocks: BlockRange) -> Option<TeamWork> {
        let subgraphs = self.context.subgraphs_of(blocks)?;
        let first = subgraphs.start;
        let steps = self.steps(subgraphs);
        let last = steps.last()?;
        let done = self.processors().zip(last).filter_map(|(end, reached)| Some((reached.as_ref()?.time, end)));
        let (_, mut end) = done.min()?;

        let mut passages: Vec<&Solution> = Vec::new();
        let mut behind = subgraphs.end;
        while behind > first {
            let SoonestEnd { start, source, .. } = *steps[behind.index() - 1 - first.index()][end.index()].as_ref()?;
            passages.push(self.passage(SubgraphRange::new(start, behind), Ends { source, end })?);
            (behind, end) = (start, source.unwrap_or(end));
        }

        let mut lists: Vec<Vec<OperatorId>> = vec![Vec::new(); self.classes.len()];
        let mut splits = Vec::new();
        for solution in passages.into_iter().rev() {
            lists.iter_mut().zip(&solution.lists).for_each(|(list, operators)| list.extend(operators));
            splits.extend(solution.splits.iter().cloned());
        }
        Some(TeamWork::new(lists, splits))
    }
}
