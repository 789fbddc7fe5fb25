//! Whether a plan is one of those that searches on a problem go through.

use millstream_board::ProcessorClass;

use crate::board::senders::Senders;
use crate::plan::{Plan, PlannedStage};
use crate::problem::Problem;
use crate::teams::team_way::TeamTimeKind;

impl Problem {
    /// Whether a plan is in the problem's space, so that the problem's [`PeriodBound`](crate::PeriodBound) is one of
    /// this plan as well: its stages are all blocks in order, on processors and teams of the problem that can run them,
    /// on no more cores than there are, and a team has its stage for itself where links to its clusters are occupied.
    /// What the plan takes does not matter.
    pub fn contains(&self, plan: &Plan) -> bool {
        let least = self.with_team_times(TeamTimeKind::Least);
        let mut senders = Senders::NETWORK;
        let mut done = 0;
        for stage in &plan.stages {
            let Some(ways) = least.ways_of(stage).filter(|ways| !ways.is_empty()) else { return false };
            let occupied = least.occupied_links(senders, stage.blocks);
            let is_crowded = ways.len() > 1 && ways.iter().any(|&way| least.is_alone(way, &occupied));
            let blocks = stage.blocks.indices();
            if blocks.start != done || is_crowded || least.times(&ways, senders, stage.blocks).is_none() {
                return false;
            }
            done = blocks.end;
            senders = least.senders(&ways);
        }

        let processors: Vec<ProcessorClass> = plan.stages.iter().flat_map(PlannedStage::processors).cloned().collect();
        done == self.blocks() && self.cores_of(&processors).is_some()
    }
}
