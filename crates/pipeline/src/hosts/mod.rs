//! Pipelines over several boards with links between them.

mod division;
mod fronts;
mod links;
mod plan;
mod ranges;
mod search;
mod variants;

use std::sync::Arc;

use millstream_board::System;
use millstream_cost::CostTable;
use millstream_graph::Graph;
use millstream_partition::Chain;
use millstream_schedule::crossing_bytes;

use crate::PipelineError;
use crate::link_ground::LinkGround;
use links::Links;
use variants::HostProblem;

pub use division::HostDivision;

pub use fronts::SystemFront;

/// Stage times of a network on all hosts of a system, ready for searching.
///
/// A stage lives on one host, all its replicas on single processors of it. The stages of a host follow each other: frames come to it once, over one
/// link, or begin there. In whatever order hosts come, what a frame's values take from one to the next is the link's time, of which the
/// sending and the receiving stage pay their part; the link is as good as another stage, which passes one frame at a time.
#[derive(Debug, Clone)]
pub struct SystemProblem {
    /// Number of blocks.
    blocks: usize,
    hosts: Vec<HostProblem>,
    links: Links,
    /// Where links within hosts are occupied: what shows what several stages take over the same one.
    board_links: Option<Arc<LinkGround>>,
}

impl SystemProblem {
    /// More hosts than this have more sets of them than a search can go through.
    pub const MOST_HOSTS: usize = 8;

    /// Collects the times of all possible stages on all hosts. The table is one of the whole system, with the ways between hosts.
    ///
    /// # Errors
    /// [`PipelineError::Hosts`] if there are too many hosts, [`PipelineError::MissingProcessor`] and [`PipelineError::Links`] as for a
    /// [`Problem`](crate::Problem), [`PipelineError::Unsupported`] if no host runs some operator.
    pub fn new(graph: &Graph, chain: &Chain, system: &System, table: &CostTable) -> Result<Self, PipelineError> {
        let hosts = system.hosts().len();
        if hosts > Self::MOST_HOSTS {
            return Err(PipelineError::Hosts { hosts, most: Self::MOST_HOSTS });
        }
        let runs = |operator: usize| table.processors().any(|own| table.time(own, operator).is_some());
        if let Some(id) = graph.operator_ids().find(|id| !runs(id.index())) {
            return Err(PipelineError::Unsupported { operator: graph.operator(id).name.clone() });
        }
        let blocks = chain.blocks().len();
        let bytes = bytes_after(graph, chain);
        let links = Links::new(system, table, &bytes);
        let host = |place: usize| HostProblem::new((graph, chain, table), system, place, &links, &bytes);
        let hosts = (0..hosts).map(host).collect::<Result<Vec<_>, _>>()?;
        let occupies_links = hosts.iter().any(|host| host.own().has_links());
        let board_links = occupies_links.then(|| LinkGround::new(graph, table));
        Ok(Self { blocks, hosts, links, board_links })
    }

    /// The same with one replica per stage.
    #[must_use]
    pub fn without_replicas(mut self) -> Self {
        self.hosts.iter_mut().for_each(HostProblem::drop_replicas);
        self
    }

    /// Number of blocks.
    pub fn blocks(&self) -> usize {
        self.blocks
    }
}

/// What is still needed of a frame after so many blocks, in bytes; nothing of it has to go anywhere before the first and after the last.
fn bytes_after(graph: &Graph, chain: &Chain) -> Vec<u64> {
    let mut is_done = vec![false; graph.operators().len()];
    let mut bytes = vec![0];
    for block in chain.blocks() {
        block.operators.iter().for_each(|id| is_done[id.index()] = true);
        bytes.push(crossing_bytes(graph, |id| is_done[id.index()]));
    }
    bytes
}
