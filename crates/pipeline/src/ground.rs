//! What the teams of a problem have in common.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use millstream_cost::CostTable;
use millstream_graph::Graph;
use millstream_partition::{BlockRange, Chain, Subgraph};

use crate::effort::Effort;
use crate::experience::Experience;
use crate::memory::MemoryLimits;
use crate::regions::Regions;
use crate::senders::SenderKinds;
use crate::team_bounds::Windows;

/// What looking at teams for one search may take at the usual effort, in evaluations of single operators.
pub(crate) const MOST_EVALUATIONS: u64 = 3_000_000;

/// What all teams of a problem are made from.
#[derive(Debug)]
pub(crate) struct Ground {
    pub(crate) graph: Graph,
    pub(crate) chain: Chain,
    pub(crate) table: CostTable,
    pub(crate) subgraphs: Vec<Subgraph>,
    pub(crate) memory: MemoryLimits,
    pub(crate) kinds: SenderKinds,
    pub(crate) windows: Windows,
    pub(crate) regions: Regions,
    /// Of each number of blocks, how many subgraphs have the same operators, if that is a whole number.
    pub(crate) subgraphs_until: Vec<Option<usize>>,
    /// No value is smaller.
    pub(crate) least_bytes: u64,
    pub(crate) effort: Effort,
    pub(crate) experience: Experience,
    /// What looking at teams has taken so far, in evaluations of single operators.
    spent: AtomicU64,
}

impl Ground {
    pub(crate) fn new(
        (graph, chain, table): (&Graph, &Chain, &CostTable),
        memory: MemoryLimits,
        kinds: &SenderKinds,
        effort: Effort,
    ) -> Self {
        let subgraphs = millstream_partition::subgraphs(graph);
        let values = graph.operator_ids().flat_map(|id| graph.operator(id).outputs.iter().copied());
        let regions = Regions::of(graph, &subgraphs);
        Self {
            windows: Windows::of(graph, &subgraphs, &regions),
            regions,
            subgraphs_until: subgraphs_until(graph, chain, &subgraphs),
            experience: Experience::new(subgraphs.len(), effort),
            least_bytes: values.map(|value| graph.value(value).bytes().unwrap_or(0)).min().unwrap_or(0).min(1),
            effort,
            spent: AtomicU64::new(0),
            graph: graph.clone(),
            chain: chain.clone(),
            table: table.clone(),
            subgraphs,
            memory,
            kinds: kinds.clone(),
        }
    }

    /// What looking at teams may have taken in the end if it begins now.
    pub(crate) fn most_spent(&self) -> u64 {
        self.spent().saturating_add(self.effort.steps(MOST_EVALUATIONS))
    }

    /// What looking at teams has taken.
    pub(crate) fn spent(&self) -> u64 {
        self.spent.load(Ordering::Relaxed)
    }

    pub(crate) fn spend(&self, evaluations: u64) {
        self.spent.fetch_add(evaluations, Ordering::Relaxed);
    }

    /// The subgraphs that these blocks consist of; `None` if they end within one.
    pub(crate) fn subgraphs_of(&self, blocks: BlockRange) -> Option<Range<usize>> {
        Some(self.subgraphs_until[blocks.start().index()]?..self.subgraphs_until[blocks.end().index()]?)
    }
}

/// For each number of first blocks, how many first subgraphs have the same operators.
pub(crate) fn subgraphs_until(graph: &Graph, chain: &Chain, subgraphs: &[Subgraph]) -> Vec<Option<usize>> {
    let mut subgraph_of = vec![0; graph.operators().len()];
    let mut sizes = vec![0_usize];
    for (index, subgraph) in subgraphs.iter().enumerate() {
        subgraph.operators().for_each(|id| subgraph_of[id.index()] = index);
        sizes.push(sizes[index] + subgraph.operators().count());
    }
    let mut until = vec![Some(0)];
    let (mut operators, mut past) = (0, 0);
    for own in chain.blocks() {
        operators += own.operators.len();
        past = own.operators.iter().map(|id| subgraph_of[id.index()] + 1).fold(past, usize::max);
        until.push((sizes.get(past) == Some(&operators)).then_some(past));
    }
    until
}
