//! Which subgraphs can be divided by rows together.

use millstream_graph::{Graph, Locality, OperatorId, RowRegion};
use millstream_partition::Subgraph;

/// Subgraphs that are divided together at the most: beyond that, halos outgrow what is saved.
const MOST_TOGETHER: usize = 24;
/// Regions of a network at the most; where there would be more, fewer subgraphs are divided together.
const MOST_REGIONS: usize = 4000;

/// Neighbouring subgraphs that can be divided by rows together.
#[derive(Debug)]
pub(crate) struct Region {
    /// The number of the subgraph behind the last one.
    pub(crate) end: usize,
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
        let from = |start: usize| {
            let local = are_local[start..].iter().take(together).take_while(|is_local| **is_local).count();
            let mut operators: Vec<OperatorId> = Vec::new();
            let region = |subgraph: usize| {
                operators.extend(subgraphs[subgraph].operators());
                let rows = RowRegion::new(graph, &operators)?;
                Some(Region { end: subgraph + 1, operators: operators.clone(), rows })
            };
            (start..start + local).filter_map(region).collect()
        };
        let by_start: Vec<Vec<Region>> = (0..subgraphs.len()).map(from).collect();
        let mut covered = vec![false; subgraphs.len()];
        for (start, longest) in by_start.iter().enumerate().filter_map(|(start, own)| Some((start, own.last()?))) {
            covered[start..longest.end].fill(true);
        }
        Self { by_start, covered }
    }

    /// Those that begin with a subgraph.
    pub(crate) fn from(&self, start: usize) -> &[Region] {
        &self.by_start[start]
    }

    /// Whether a subgraph is part of any.
    pub(crate) fn cover(&self, subgraph: usize) -> bool {
        self.covered[subgraph]
    }

    /// The first subgraph of the longest region that may end with a subgraph.
    pub(crate) fn earliest_start(subgraph: usize) -> usize {
        (subgraph + 1).saturating_sub(MOST_TOGETHER)
    }
}
