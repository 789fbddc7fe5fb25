//! Of the plans that a search finds, those that fit into the memory, and others where some do not.

use crate::error::PipelineError;
use crate::memory::least_memory::LeastMemory;
use crate::plan::Plan;
use crate::problem::Problem;
use crate::ways::way::StageWays;

/// Plans for which the memory that all processors share has room.
#[derive(Debug, Clone, PartialEq)]
pub struct PlansWithinMemory {
    /// What was found.
    pub plans: Vec<Plan>,
    /// Whether everything that the search found fits, so that what it proves of its plans holds of these. Where
    /// something did not, these are the best of those that were found, not of all that fit.
    pub is_whole: bool,
}

impl Problem {
    /// Of what a search found, what fits into the memory that all share. If something did not, the search goes on with
    /// fewer cores and without replicas; what holds the least is there as well, and the shortest stages that fit on
    /// single processors. This finds what fits, not always the best of it.
    ///
    /// # Errors
    /// [`PipelineError::Memory`] if nothing fits.
    pub(crate) fn fitting(
        &self,
        plans: Vec<Plan>,
        search: impl Fn(&Self) -> Result<Vec<Plan>, PipelineError>,
    ) -> Result<PlansWithinMemory, PipelineError> {
        let Some(capacity) =
            self.costs.capacity.as_ref().filter(|capacity| !plans.iter().all(|plan| capacity.has_room_for(plan)))
        else {
            return Ok(PlansWithinMemory { plans, is_whole: true });
        };
        let mut plans = plans;
        let unlimited = self.clone().without_memory_limit().without_teams();
        for cores in self.counts().all().skip(1) {
            let within = unlimited.within(cores);
            plans.extend(search(&within.clone().without_replicas()).unwrap_or_default());
            plans.extend(search(&within).unwrap_or_default());
        }
        let alone =
            unlimited.ways().filter_map(|way| self.plan(vec![StageWays::single(self.costs.chain.whole(), way)]));
        plans.extend(alone);
        plans.extend(LeastMemory::of(&unlimited, capacity).plans());
        let fitting: Vec<Plan> = plans.iter().filter(|plan| capacity.has_room_for(plan)).cloned().collect();
        if fitting.is_empty() {
            Err(capacity.exceeded_by(&plans))
        } else {
            Ok(PlansWithinMemory { plans: fitting, is_whole: false })
        }
    }
}
