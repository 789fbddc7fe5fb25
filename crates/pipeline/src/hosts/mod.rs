//! Pipelines over several boards with links between them.

mod host_division;
mod host_links;
mod host_search;
mod host_set;
mod lazily_evaluated;
mod place;
mod states;
mod system_front;
mod system_plan;
mod variant_table;
mod variants;

use std::sync::Arc;

use millstream_board::{ProcessorClass, System, TransferPrecision};
use millstream_cost::CostTable;
use millstream_graph::{Graph, OperatorId};
use millstream_partition::{BlockId, Chain};
use millstream_schedule::crossing_bytes;

use crate::error::PipelineError;
use crate::problem::Problem;
use crate::problem::link_evaluator::LinkEvaluator;
use crate::teams::effort::Effort;
use host_links::Links;
use variants::{HostProblem, NetworkCosts};

pub use host_division::HostDivision;
pub use place::HostPlace;
pub use system_front::SystemFront;

/// Stage times of a network on all hosts of a system, ready for searching.
///
/// A stage lives on one host, with all its replicas: single processors of it, and teams if there are any. The stages of
/// a host follow each other: frames come to it once, over one link, or begin there. In whatever order hosts come, what
/// a frame's values take from one to the next is the link's time, of which the sending and the receiving stage pay
/// their part; the link is as good as another stage, which passes one frame at a time.
#[derive(Debug, Clone)]
pub struct SystemProblem {
    /// Number of blocks.
    blocks: usize,
    hosts: Vec<HostProblem>,
    links: Links,
    /// Where links within hosts are occupied: what shows what several stages take over the same one.
    board_links: Option<Arc<LinkEvaluator>>,
    /// Whether searches evaluate teams that promise something.
    evaluates_teams: bool,
}

impl SystemProblem {
    /// More hosts than this have more sets of them than a search can go through.
    pub const MOST_HOSTS: usize = 8;

    /// Collects the times of all possible stages on all hosts. The table is one of the whole system, with the links
    /// between hosts.
    ///
    /// # Errors
    /// [`PipelineError::Hosts`] if there are too many hosts, [`PipelineError::MissingProcessor`] and
    /// [`PipelineError::Links`] as for a [`Problem`], [`PipelineError::Unsupported`] if no host runs
    /// some operator.
    pub fn new(graph: &Graph, chain: &Chain, system: &System, table: &CostTable) -> Result<Self, PipelineError> {
        Self::of(NetworkCosts { graph, chain, table, teams: &[], effort: Effort::USUAL }, system)
    }

    /// As [`SystemProblem::new`], with stages that several processors of a host own together as well, as
    /// [`Problem::with_teams`] has them on one board. `teams` names the processors of each, with the names that they
    /// have in the system, such as `rk/B2`; the effort is what searches put into them.
    ///
    /// # Errors
    /// As [`SystemProblem::new`].
    pub fn with_teams(
        graph: &Graph,
        chain: &Chain,
        system: &System,
        table: &CostTable,
        (teams, effort): (&[Vec<ProcessorClass>], Effort),
    ) -> Result<Self, PipelineError> {
        Self::of(NetworkCosts { graph, chain, table, teams, effort }, system)
    }

    fn of(network: NetworkCosts<'_>, system: &System) -> Result<Self, PipelineError> {
        let NetworkCosts { graph, chain, table, .. } = network;
        let host_count = system.hosts().len();
        if host_count > Self::MOST_HOSTS {
            return Err(PipelineError::Hosts { hosts: host_count, most: Self::MOST_HOSTS });
        }
        let runs = |operator: OperatorId| table.class_ids().any(|processor| table.time(processor, operator).is_some());
        if let Some(id) = graph.operator_ids().find(|id| !runs(*id)) {
            return Err(PipelineError::Unsupported { operator: graph.operator(id).name.clone() });
        }
        let blocks = chain.blocks().len();
        let links = Links::new(system, table, |precision| bytes_after(graph, chain, precision));
        let host = |place: HostPlace| HostProblem::new(network, system, place, &links);
        let hosts = HostPlace::all(host_count).map(host).collect::<Result<Vec<_>, _>>()?;
        let occupies_links = hosts.iter().any(|host| host.within().has_links());
        let board_links = occupies_links.then(|| LinkEvaluator::new(graph, table));
        Ok(Self { blocks, hosts, links, board_links, evaluates_teams: true })
    }

    /// The problem with one replica per stage.
    #[must_use]
    pub fn without_replicas(self) -> Self {
        self.with(|problem| problem.clone().without_replicas())
    }

    /// The problem without stages that several processors own together.
    #[must_use]
    pub fn without_teams(self) -> Self {
        self.with(|problem| problem.clone().without_teams())
    }

    /// Whether several processors may own a stage together.
    pub fn has_teams(&self) -> bool {
        self.hosts.iter().any(|host| host.within().has_teams())
    }

    /// The problem with other problems in place of those of the hosts.
    fn with(&self, other: impl Fn(&Problem) -> Problem) -> Self {
        Self { hosts: self.hosts.iter().map(|host| host.with(&other)).collect(), ..self.clone() }
    }

    /// Number of blocks.
    pub fn blocks(&self) -> usize {
        self.blocks
    }

    /// The end of ranges with the last block.
    fn end(&self) -> BlockId {
        BlockId::new(self.blocks)
    }

    /// All hosts.
    fn places(&self) -> impl Iterator<Item = HostPlace> + use<> {
        HostPlace::all(self.hosts.len())
    }

    /// The problem of a host.
    #[inline]
    fn host(&self, place: HostPlace) -> &HostProblem {
        &self.hosts[place.index()]
    }
}

/// What is still needed of a frame after so many blocks, in bytes as they are sent; nothing of it has to go anywhere
/// before the first and after the last.
fn bytes_after(graph: &Graph, chain: &Chain, precision: TransferPrecision) -> Vec<u64> {
    let mut is_done = vec![false; graph.operators().len()];
    let mut bytes = vec![0];
    for block in chain.blocks() {
        block.operators.iter().for_each(|id| is_done[id.index()] = true);
        bytes.push(crossing_bytes(graph, precision, |id| is_done[id.index()]));
    }
    bytes
}
