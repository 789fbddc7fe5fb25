//! Which subgraphs can be divided into tiles together.

use std::collections::HashSet;

use millstream_graph::{Along, Graph, OperatorId, TileRegion};
use millstream_partition::{Subgraph, SubgraphId};

/// Subgraphs that are divided together at the most: beyond that, halos outgrow what is saved.
const MOST_TOGETHER: usize = 24;
/// Regions of a network at the most; where there would be more, fewer subgraphs are divided together.
const MOST_REGIONS: usize = 4000;

/// Neighbouring subgraphs that can be divided into tiles together.
#[derive(Debug)]
pub(crate) struct Region {
    /// The last of them.
    pub(crate) last: SubgraphId,
    pub(crate) operators: Vec<OperatorId>,
    pub(crate) along: Along,
    pub(crate) tiles: TileRegion,
}

/// All regions of a network, by their first subgraphs, shorter ones first.
#[derive(Debug)]
pub(crate) struct Regions {
    by_start: Vec<Vec<Region>>,
    /// Per subgraph: whether it is part of a region, or has attention that can be divided by heads.
    covered: Vec<bool>,
}

impl Regions {
    pub(crate) fn of(graph: &Graph, subgraphs: &[Subgraph]) -> Self {
        let together = (MOST_REGIONS / subgraphs.len().max(1)).min(MOST_TOGETHER);
        let from = |start: SubgraphId| -> Vec<Region> {
            let mut operators: Vec<OperatorId> = Vec::new();
            let mut regions = Vec::new();
            for last in SubgraphId::all(subgraphs.len()).skip(start.index()).take(together) {
                operators.extend(subgraphs[last.index()].operators());
                let ways = TileRegion::worthwhile(graph, &operators).into_iter();
                regions.extend(ways.map(|(along, tiles)| Region { last, operators: operators.clone(), along, tiles }));
            }
            regions
        };
        let by_start: Vec<Vec<Region>> = SubgraphId::all(subgraphs.len()).map(from).collect();

        let heads: HashSet<OperatorId> = graph.head_groups().into_iter().flatten().collect();
        let has_heads = |subgraph: &Subgraph| subgraph.operators().any(|id| heads.contains(&id));
        let mut covered: Vec<bool> = subgraphs.iter().map(has_heads).collect();
        for (start, longest) in
            by_start.iter().enumerate().filter_map(|(start, regions)| Some((start, regions.last()?)))
        {
            covered[start..=longest.last.index()].fill(true);
        }
        Self { by_start, covered }
    }

    /// Those that begin with a subgraph.
    pub(crate) fn from(&self, start: SubgraphId) -> &[Region] {
        &self.by_start[start.index()]
    }

    /// Whether a subgraph is part of any, or has attention that can be divided by heads.
    pub(crate) fn cover(&self, subgraph: SubgraphId) -> bool {
        self.covered[subgraph.index()]
    }

    /// The first subgraph of the longest region that may end with a subgraph.
    pub(crate) fn earliest_start(subgraph: SubgraphId) -> SubgraphId {
        SubgraphId::new((subgraph.index() + 1).saturating_sub(MOST_TOGETHER))
    }
}
