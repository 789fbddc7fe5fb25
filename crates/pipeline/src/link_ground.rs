//! What the links between stages take by a network's costs.

use std::sync::Arc;

use millstream_cost::{CostTable, Nanoseconds};
use millstream_graph::Graph;
use millstream_schedule::Schedule;

/// What shows what plans occupy of links.
///
/// Searches count what a stage's replicas take over the link to their cluster, as if no other stage used it. What the frames of all stages
/// occupy together is counted when a plan is whole: its period is then that of its stages or of its links, whichever is longer.
#[derive(Debug)]
pub(crate) struct LinkGround {
    graph: Graph,
    table: CostTable,
}

impl LinkGround {
    pub(crate) fn new(graph: &Graph, table: &CostTable) -> Arc<Self> {
        Arc::new(Self { graph: graph.clone(), table: table.clone() })
    }

    /// The longest that a frame occupies a link.
    pub(crate) fn period(&self, schedule: &Schedule) -> Nanoseconds {
        let evaluation = schedule.evaluate(&self.graph, &self.table);
        evaluation.map_or(Nanoseconds::ZERO, |evaluation| evaluation.board_link_period())
    }

    /// Whether stages or replicas wait for the same link, as [`Evaluation::shares_board_links`](millstream_schedule::Evaluation::shares_board_links) says.
    pub(crate) fn is_shared_by(&self, schedule: &Schedule) -> bool {
        schedule.evaluate(&self.graph, &self.table).is_ok_and(|evaluation| evaluation.shares_board_links())
    }
}
