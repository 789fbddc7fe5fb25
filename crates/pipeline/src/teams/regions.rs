//! Which subgraphs can be divided by rows together.

use millstream_graph::{Graph, Locality, OperatorId, RowRegion};
use millstream_partition::{Subgraph, SubgraphId};

/// Subgraphs that are divided together at the most: beyond that, halos outgrow what is saved.
const MOST_TOGETHER: usize = 24;
/// Regions of a network at the most; where there would be more, fewer subgraphs are divided together.
const MOST_REGIONS: usize = 4000;

/// Neighbouring subgraphs that can be divided by rows together.
#[derive(Debug)]
pub(crate) struct Region {
    /// The last of them.
    pub(crate) last: SubgraphId,
    pub(crate) operators: Vec<OperatorId>,
    pub(crate) rows: RowRegion,
}

/// All regions of a network, by their first subgraphs, shorter ones first.
#[derive(Debug)]
pub(crate) struct Regions {
    by_start: Vec<Vec<Region>>,
    /// Per subgraph.
    covered: Vec<bool>,
}

impl Regions {
    pub(crate) fn of(graph: &Graph, subgraphs: &[Subgraph]) -> Self {
        let together = (MOST_REGIONS / subgraphs.len().max(1)).min(MOST_TOGETHER);
        let is_local = |id: OperatorId| graph.operator(id).locality != Locality::Global;
        let are_local: Vec<bool> = subgraphs.iter().map(|subgraph| subgraph.operators().all(is_local)).collect();
        let from = |start: SubgraphId| {
            let local = are_local[start.index()..].iter().take(together).take_while(|is_local| **is_local).count();
            let mut operators: Vec<OperatorId> = Vec::new();
            let region = |subgraph: SubgraphId| {
                operators.extend(subgraphs[subgraph.index()].operators());
                let rows = RowRegion::new(graph, &operators)?;
                Some(Region { last: subgraph, operators: operators.clone(), rows })
            };
            SubgraphId::all(subgraphs.len()).skip(start.index()).take(local).filter_map(region).collect()
        };
        let by_start: Vec<Vec<Region>> = SubgraphId::all(subgraphs.len()).map(from).collect();
        let mut covered = vec![false; subgraphs.len()];
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

    /// Whether a subgraph is part of any.
    pub(crate) fn cover(&self, subgraph: SubgraphId) -> bool {
        self.covered[subgraph.index()]
    }

    /// The first subgraph of the longest region that may end with a subgraph.
    pub(crate) fn earliest_start(subgraph: SubgraphId) -> SubgraphId {
        SubgraphId::new((subgraph.index() + 1).saturating_sub(MOST_TOGETHER))
    }
}
