//! Fronts of systems of several hosts.

use super::SystemProblem;
use super::host_division::HostDivision;
use super::host_search::HostSearch;
use super::place::HostPlace;
use crate::error::PipelineError;
use crate::plan::Plan;
use crate::plan::undominated::keep_undominated;

/// What a search for plans over several hosts found: its plans, and whether they are the whole front.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SystemFront {
    /// Plans of which none beats another in period without losing in latency, from the lowest latency to the shortest
    /// period.
    pub plans: Vec<Plan>,
    /// Whether nothing in the problem's space is better. It is not known where the memory of a host has no room for
    /// what would be the best, or where stages or replicas of a host wait for the same link.
    pub is_exact: bool,
}

impl SystemProblem {
    /// All plans that no other plan of the problem's space beats in period without losing in latency. Where some do not
    /// fit into the memory of a host, they are left out, and what is found without replicas, on each host alone and
    /// with parts for every host, equal or by memory, takes their place, also with one stage per host only:
    /// [`SystemFront::is_exact`] says so.
    ///
    /// # Errors
    /// [`PipelineError::Infeasible`] if no division into stages can run every operator, [`PipelineError::HostMemory`]
    /// if nothing that was found fits into the memories.
    pub fn front(&self) -> Result<SystemFront, PipelineError> {
        self.front_without(&[])
    }

    /// The front where the hosts at these places are not there: what is left of a system that has lost them.
    ///
    /// # Errors
    /// As [`SystemProblem::front`].
    pub fn front_without(&self, places: &[HostPlace]) -> Result<SystemFront, PipelineError> {
        let division = HostDivision::without(self, places);
        let plans = HostSearch::front(self, &division);
        let others = || {
            let left = self.places().filter(|place| !places.contains(place));
            let alone = left.map(|place| HostDivision::only(self, place));
            let divisions = alone.chain([HostDivision::equal(self, places), HostDivision::by_memory(self, places)]);
            divisions.filter_map(|division| self.front_of(&division).ok()).flat_map(|front| front.plans).collect()
        };
        self.fitting(plans, &division, others)
    }

    /// The front of those plans in which each host has the blocks that a division gives it.
    ///
    /// # Errors
    /// As [`SystemProblem::front`].
    pub fn front_of(&self, division: &HostDivision) -> Result<SystemFront, PipelineError> {
        self.fitting(HostSearch::front(self, division), division, Vec::new)
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
        plans.extend(HostSearch::front(&single, division));
        plans.extend(HostSearch::front(&single, &division.clone().with_single_stages()));
        plans.extend(others());
        plans.retain(|plan| self.exceeded_by(plan).is_none());
        self.raise_to_links(&mut plans);
        keep_undominated(&mut plans, |plan| (plan.latency, plan.period));
        if plans.is_empty() { Err(exceeded) } else { Ok(SystemFront { plans, is_exact: false }) }
    }

    /// Gives plans the period of their links within hosts where that is longer. Whether some wait for these links,
    /// which the search does not count.
    fn raise_to_links(&self, plans: &mut [Plan]) -> bool {
        let Some(evaluator) = &self.board_links else { return false };
        let mut is_held_up = false;
        for plan in plans {
            let Some(evaluation) = evaluator.evaluate(&self.schedule(plan)) else { continue };
            let links = evaluation.board_link_period();
            is_held_up |= links > plan.period || evaluation.shares_board_links();
            plan.period = plan.period.max(links);
        }
        is_held_up
    }
}
