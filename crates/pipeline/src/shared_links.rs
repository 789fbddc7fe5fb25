//! Links that several stages of a plan take their frames over.

use std::sync::Arc;

use millstream_cost::{CostTable, Nanoseconds};
use millstream_graph::Graph;
use millstream_schedule::Schedule;

use crate::planning::StageWays;
use crate::ways::Reading;
use crate::{Plan, Problem};

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

    /// Whether several stages take frames over the same link.
    fn is_shared_by(&self, schedule: &Schedule) -> bool {
        schedule.evaluate(&self.graph, &self.table).is_ok_and(|evaluation| evaluation.shares_board_links())
    }
}

impl Problem {
    /// Plans of which none has a shorter period than its links.
    pub(crate) fn with_links(&self, mut plans: Vec<Plan>) -> Vec<Plan> {
        for plan in &mut plans {
            let links = self.link_period(plan);
            if links > plan.period {
                plan.period = links;
                plan.energy = self.energy(plan);
            }
        }
        plans
    }

    /// A plan of these stages whose period is no shorter than its links'; `None` if one of them can't run.
    pub(crate) fn linked_plan(&self, stages: Vec<StageWays>) -> Option<Plan> {
        self.with_links(vec![self.plan(stages)?]).pop()
    }

    /// The longest that a frame occupies a link; nothing for what is only hoped for, of which nobody knows who does what.
    fn link_period(&self, plan: &Plan) -> Nanoseconds {
        let ground = self.links.as_ref().filter(|_| self.reading == Reading::Found);
        ground.map_or(Nanoseconds::ZERO, |ground| ground.period(&self.schedule(plan)))
    }

    /// Whether several stages of a plan take frames over the same link, so that what they wait for each other depends on when they do.
    pub fn shares_links(&self, plan: &Plan) -> bool {
        self.links.as_ref().is_some_and(|ground| ground.is_shared_by(&self.schedule(plan)))
    }
}
