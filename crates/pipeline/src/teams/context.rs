//! What all teams of a problem share.

use std::sync::atomic::{AtomicU64, Ordering};

use millstream_cost::CostTable;
use millstream_graph::Graph;
use millstream_partition::{BlockId, BlockRange, Chain, Subgraph, SubgraphId};

use crate::board::memory_limits::MemoryLimits;
use crate::board::senders::SenderKinds;
use crate::inputs::ProblemInputs;
use crate::teams::effort::Effort;
use crate::teams::experience::Experience;
use crate::teams::regions::Regions;
use crate::teams::subgraph_range::SubgraphRange;
use crate::teams::windows::Windows;

/// What evaluating teams for one search may take at the usual effort, in evaluations of single operators.
pub(crate) const MOST_EVALUATIONS: u64 = 3_000_000;

/// What all teams of a problem share: the network with its subgraphs, the costs, limits, and what evaluating teams has
/// shown and spent.
#[derive(Debug)]
pub(crate) struct TeamContext {
    pub(crate) graph: Graph,
    pub(crate) chain: Chain,
    pub(crate) table: CostTable,
    pub(crate) subgraphs: Vec<Subgraph>,
    pub(crate) memory: MemoryLimits,
    pub(crate) kinds: SenderKinds,
    pub(crate) windows: Windows,
    pub(crate) regions: Regions,
    /// Behind each number of blocks, the subgraph that begins there; `None` within one.
    pub(crate) subgraphs_until: Vec<Option<SubgraphId>>,
    /// The least bytes of a hand-over, for bounds: 0 if some value has none (then it may cost nothing), else 1.
    pub(crate) least_bytes: u64,
    pub(crate) effort: Effort,
    pub(crate) experience: Experience,
    /// What evaluating teams has taken so far, in evaluations of single operators.
    spent: AtomicU64,
}

impl TeamContext {
    pub(crate) fn new(inputs: ProblemInputs<'_>, kinds: &SenderKinds, effort: Effort) -> Self {
        let ProblemInputs { graph, chain, board, table } = inputs;
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
            memory: MemoryLimits::of(board),
            kinds: kinds.clone(),
        }
    }

    /// What evaluating teams has taken so far, in evaluations of single operators.
    pub(crate) fn spent(&self) -> u64 {
        self.spent.load(Ordering::Relaxed)
    }

    pub(crate) fn spend(&self, evaluations: u64) {
        self.spent.fetch_add(evaluations, Ordering::Relaxed);
    }

    /// The subgraphs that these blocks consist of; `None` if they end within one.
    pub(crate) fn subgraphs_of(&self, blocks: BlockRange) -> Option<SubgraphRange> {
        let until = |block: BlockId| self.subgraphs_until[block.index()];
        Some(SubgraphRange::new(until(blocks.start())?, until(blocks.end())?))
    }
}

/// For each number of first blocks, the subgraph behind those that have the same operators.
pub(crate) fn subgraphs_until(graph: &Graph, chain: &Chain, subgraphs: &[Subgraph]) -> Vec<Option<SubgraphId>> {
    let mut subgraph_of = vec![0; graph.operators().len()];
    let mut sizes = vec![0_usize];
    for (index, subgraph) in subgraphs.iter().enumerate() {
        subgraph.operators().for_each(|id| subgraph_of[id.index()] = index);
        sizes.push(sizes[index] + subgraph.operators().count());
    }
    let mut until = vec![Some(SubgraphId::new(0))];
    let (mut operators, mut past) = (0, 0);
    for block in chain.blocks() {
        operators += block.operators.len();
        past = block.operators.iter().map(|id| subgraph_of[id.index()] + 1).fold(past, usize::max);
        until.push((sizes.get(past) == Some(&operators)).then_some(SubgraphId::new(past)));
    }
    until
}
