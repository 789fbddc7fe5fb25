//! Pipelines over several boards with links between them.

mod division;
mod links;
mod plan;
mod search;
mod variants;

use std::sync::Arc;

use millstream_board::System;
use millstream_cost::{CostTable, Nanoseconds};
use millstream_graph::Graph;
use millstream_partition::{BlockId, BlockRange, Chain};
use millstream_schedule::crossing_bytes;

pub use division::HostDivision;

use crate::shared_links::LinkGround;
use crate::undominated::keep_undominated;
use crate::{PipelineError, Plan};
use links::Links;
use search::Search;
use variants::HostProblem;

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

    /// All plans that no other plan of the problem's space beats in period without losing in latency. Where some do not fit into the memory of
    /// a host, they are left out, and what is found without replicas, on each host alone and with parts for every host, equal or by
    /// memory, takes their place, also with one stage per host only: [`SystemFront::is_exact`] says so.
    ///
    /// # Errors
    /// [`PipelineError::Infeasible`] if no division into stages can run every operator, [`PipelineError::HostMemory`] if nothing that was found
    /// fits into the memories.
    pub fn front(&self) -> Result<SystemFront, PipelineError> {
        self.front_without(&[])
    }

    /// The same where the hosts at these places are not there: what is left of a system that has lost them.
    ///
    /// # Errors
    /// As [`SystemProblem::front`].
    pub fn front_without(&self, places: &[usize]) -> Result<SystemFront, PipelineError> {
        let division = HostDivision::without(self, places);
        let plans = Search::front(self, &division);
        let others = || {
            let left = (0..self.hosts.len()).filter(|place| !places.contains(place));
            let alone = left.map(|place| HostDivision::only(self, place));
            let divisions = alone.chain([HostDivision::equal(self, places), HostDivision::by_memory(self, places)]);
            divisions.filter_map(|division| self.front_of(&division).ok()).flat_map(|front| front.plans).collect()
        };
        self.fitting(plans, &division, others)
    }

    /// The same of those plans in which each host has the blocks that a division gives it.
    ///
    /// # Errors
    /// As [`SystemProblem::front`].
    pub fn front_of(&self, division: &HostDivision) -> Result<SystemFront, PipelineError> {
        self.fitting(Search::front(self, division), division, Vec::new)
    }

    /// Of what a search found, what fits into the memories, with others if something did not.
    fn fitting(
        &self,
        mut plans: Vec<Plan>,
        division: &HostDivision,
        others: impl Fn() -> Vec<Plan>,
    ) -> Result<SystemFront, PipelineError> {
        if plans.is_empty() {
            return Err(PipelineError::Infeasible);
        }
        let exceeded = plans.iter().find_map(|plan| self.exceeded_by(plan));
        let Some(exceeded) = exceeded else {
            let is_held_up = self.raise_to_links(&mut plans);
            keep_undominated(&mut plans, |plan| (plan.latency, plan.period));
            return Ok(SystemFront { plans, is_exact: !is_held_up });
        };
        let single = self.clone().without_replicas();
        plans.extend(Search::front(&single, division));
        plans.extend(Search::front(&single, &division.clone().with_single_stages()));
        plans.extend(others());
        plans.retain(|plan| self.exceeded_by(plan).is_none());
        self.raise_to_links(&mut plans);
        keep_undominated(&mut plans, |plan| (plan.latency, plan.period));
        if plans.is_empty() { Err(exceeded) } else { Ok(SystemFront { plans, is_exact: false }) }
    }

    /// Gives plans the period of their links within hosts where that is longer. Whether it is of some.
    fn raise_to_links(&self, plans: &mut [Plan]) -> bool {
        let Some(ground) = &self.board_links else { return false };
        let mut is_held_up = false;
        for plan in plans {
            let links = ground.period(&self.schedule(plan));
            is_held_up |= links > plan.period;
            plan.period = plan.period.max(links);
        }
        is_held_up
    }
}

/// What a search for plans over several hosts found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SystemFront {
    /// Plans of which none beats another in period without losing in latency, from the lowest latency to the shortest period.
    pub plans: Vec<Plan>,
    /// Whether nothing in the problem's space is better. It is not known where the memory of a host has no room for what would be the best, or
    /// where several stages of a host wait for the same link.
    pub is_exact: bool,
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

/// A range of blocks by the numbers of blocks before its start and its end.
fn range(start: usize, end: usize) -> BlockRange {
    BlockRange::new(BlockId::new(start), BlockId::new(end))
}

/// What a way between hosts takes after each number of blocks.
type Times = Vec<Nanoseconds>;
