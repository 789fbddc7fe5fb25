//! What the frames of whole plans occupy of the links of a board.

use std::sync::Arc;

use millstream_cost::CostTable;
use millstream_graph::Graph;
use millstream_schedule::{Evaluation, Schedule};

/// A network and its costs, by which whole plans are evaluated for what their frames occupy of links.
///
/// Searches count what a stage's replicas take over the link to their cluster, as if no other stage used it. What the
/// frames of all stages occupy together is counted when a plan is whole: its period is then that of its stages or of
/// its links, whichever is longer.
#[derive(Debug)]
pub(crate) struct LinkEvaluator {
    graph: Graph,
    table: CostTable,
}

impl LinkEvaluator {
    pub(crate) fn new(graph: &Graph, table: &CostTable) -> Arc<Self> {
        Arc::new(Self { graph: graph.clone(), table: table.clone() })
    }

    /// What frames take and occupy; `None` if a schedule can't run.
    pub(crate) fn evaluate(&self, schedule: &Schedule) -> Option<Evaluation> {
        schedule.evaluate(&self.graph, &self.table).ok()
    }
}
