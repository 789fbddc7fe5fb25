//! How a team goes through several subgraphs: each by itself, or neighbours in tiles.

use std::ops::Range;

use millstream_graph::OperatorId;
use millstream_mapping::ProcessorId;
use millstream_partition::BlockRange;

use crate::regions::Regions;
use crate::team::Team;
use crate::team_solution::{Ends, Solution};
use crate::team_tiles::TileSolutions;
use crate::team_work::TeamWork;

/// The soonest way to be done with a subgraph.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reached {
    pub(crate) time: u64,
    /// The first subgraph of the last passage, and the processor where it began; none at the start of a stage.
    start: usize,
    source: Option<ProcessorId>,
}

impl Team {
    /// What a range of blocks takes whose subgraphs are all known, one passage after the other.
    #[cfg(test)]
    pub(crate) fn composed(&self, blocks: BlockRange) -> Option<u64> {
        let steps = self.steps(self.ground.subgraphs_of(blocks)?);
        steps.last()?.iter().flatten().map(|reached| reached.time).min()
    }

    /// How each of these subgraphs is done soonest, per processor where it ends; `None` if it can't end there.
    pub(crate) fn steps(&self, subgraphs: Range<usize>) -> Vec<Vec<Option<Reached>>> {
        let mut steps: Vec<Vec<Option<Reached>>> = Vec::new();
        for subgraph in subgraphs.clone() {
            let own = self.places().map(|end| self.reach(&steps, subgraphs.start, subgraph, end)).collect();
            steps.push(own);
        }
        steps
    }

    /// The soonest way to be done with a subgraph on a processor: after the one before, or after a region that ends with it. `steps` are
    /// those of the subgraphs from `first` on.
    fn reach(
        &self,
        steps: &[Vec<Option<Reached>>],
        first: usize,
        subgraph: usize,
        end: ProcessorId,
    ) -> Option<Reached> {
        let from = |start: usize, source: Option<ProcessorId>, time: u64| {
            let solution = self.passage(start..subgraph + 1, (source, end))?;
            Some(Reached { time: time.saturating_add(solution.nanoseconds), start, source })
        };
        let after = |start: usize| -> Option<Reached> {
            let Some(before) = start.checked_sub(first + 1) else { return from(start, None, 0) };
            let known = self.places().zip(&steps[before]).filter_map(|(source, known)| Some((source, known.as_ref()?)));
            known.filter_map(|(source, known)| from(start, Some(source), known.time)).min_by_key(|way| way.time)
        };
        // The shortest passage comes last, so that it is taken among those that are as good.
        let earliest = Regions::earliest_start(subgraph).max(first);
        (earliest..=subgraph).filter_map(after).min_by_key(|way| (way.time, std::cmp::Reverse(way.start)))
    }

    /// The best way through neighbouring subgraphs at once.
    fn passage(&self, subgraphs: Range<usize>, ends: Ends) -> Option<&Solution> {
        let mapped = if subgraphs.len() == 1 { self.solution(subgraphs.start, ends) } else { None };
        let tiled = self.tiled(subgraphs, ends);
        mapped.into_iter().chain(tiled).min_by_key(|solution| solution.nanoseconds)
    }

    /// The way through subgraphs that are divided by rows together.
    fn tiled(&self, subgraphs: Range<usize>, ends: Ends) -> Option<&Solution> {
        let Range { start, end } = subgraphs;
        let place = self.ground.regions.from(start).iter().position(|region| region.end == end)?;
        let region = &self.ground.regions.from(start)[place];
        let may_be_first = self.ground.subgraphs_until.contains(&Some(start));
        let find = || TileSolutions::find(&self.ground, &self.processors, start, region, may_be_first);
        self.tiles[start][place].get_or_init(find).get(ends)
    }

    /// The way through a subgraph between two processors.
    fn solution(&self, subgraph: usize, ends: Ends) -> Option<&Solution> {
        self.solutions[subgraph].get()?.get(ends)
    }

    /// Who does what of these blocks, which were looked at.
    pub(crate) fn divided(&self, blocks: BlockRange) -> Option<TeamWork> {
        let subgraphs = self.ground.subgraphs_of(blocks)?;
        let first = subgraphs.start;
        let steps = self.steps(subgraphs);
        let last = steps.last()?;
        let done = self.places().zip(last).filter_map(|(end, reached)| Some((reached.as_ref()?.time, end)));
        let (_, mut end) = done.min()?;
        let mut passages: Vec<&Solution> = Vec::new();
        let mut behind = first + steps.len();
        while behind > first {
            let Reached { start, source, .. } = *steps[behind - 1 - first][end.index()].as_ref()?;
            passages.push(self.passage(start..behind, (source, end))?);
            (behind, end) = (start, source.unwrap_or(end));
        }
        let mut lists: Vec<Vec<OperatorId>> = vec![Vec::new(); self.classes.len()];
        let mut splits = Vec::new();
        for solution in passages.into_iter().rev() {
            lists.iter_mut().zip(&solution.lists).for_each(|(list, own)| list.extend(own));
            splits.extend(solution.splits.iter().cloned());
        }
        Some(TeamWork::new(lists, splits))
    }
}
