//! Fronts of systems of several hosts.

use millstream_cost::Nanoseconds;

use super::SystemProblem;
use super::host_division::HostDivision;
use super::host_search::HostSearch;
use super::place::HostPlace;
use crate::error::PipelineError;
use crate::front::pareto_front::is_beaten_in_both;
use crate::lazy_evaluation::{LazyProblem, evaluate_promising_teams};
use crate::plan::Plan;
use crate::plan::undominated::keep_undominated;

/// What a search for plans over several hosts found: its plans, and whether they are the whole front.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SystemFront {
    /// Plans of which none beats another in period without losing in latency, from the lowest latency to the shortest
    /// period.
    pub plans: Vec<Plan>,
    /// The shortest period that was found without teams; `None` if nothing was.
    pub shortest_without_teams: Option<Nanoseconds>,
    /// Whether nothing in the problem's space without teams is better than the plans, and the shortest period without
    /// teams is the shortest of that space. It is not known where the memory of a host has no room for what would be
    /// the best, or where stages or replicas of a host wait for the same link.
    pub is_exact: bool,
}

/// Searches with hoped times at the most: each takes about as long as all of the search without teams.
const MOST_ROUNDS: u64 = 2;

impl SystemFront {
    /// What was found, where nothing else is known of what has no teams.
    fn new(plans: Vec<Plan>, is_exact: bool) -> Self {
        let without_teams = plans.iter().filter(|plan| !plan.has_teams());
        let shortest_without_teams = without_teams.map(|plan| plan.period).min();
        Self { plans, shortest_without_teams, is_exact }
    }
}

impl SystemProblem {
    /// All plans that no other plan of the problem's space beats in period without losing in latency; teams are
    /// evaluated where they may be better by more than half a percent, within the problem's effort, which each division
    /// that is looked at has for itself. Where some without
    /// teams do not fit into the memory of a host, they are left out, and what is found without replicas, on each host
    /// alone and with parts for every host, equal or by memory, takes their place, also with one stage per host only:
    /// [`SystemFront::is_exact`] says so. Of plans with teams, those that do not fit are left out.
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
        let others = || {
            let left = self.places().filter(|place| !places.contains(place));
            let alone = left.map(|place| HostDivision::only(self, place));
            let divisions = alone.chain([HostDivision::equal(self, places), HostDivision::by_memory(self, places)]);
            divisions.filter_map(|division| self.front_of(&division).ok()).flat_map(|front| front.plans).collect()
        };
        self.searched(&division, others)
    }

    /// The front of those plans in which each host has the blocks that a division gives it.
    ///
    /// # Errors
    /// As [`SystemProblem::front`].
    pub fn front_of(&self, division: &HostDivision) -> Result<SystemFront, PipelineError> {
        self.searched(division, Vec::new)
    }

    /// The problem with teams evaluated where they promise something for plans that are divided in one of these ways.
    /// Its searches count with what is known of teams then, and evaluate no others: what a search among more plans
    /// finds is never worse than what one among fewer does.
    ///
    /// # Errors
    /// [`PipelineError::Mapping`] if a team can't be evaluated.
    pub fn evaluated_for(mut self, divisions: &[HostDivision]) -> Result<Self, PipelineError> {
        for division in divisions {
            let known = HostSearch::front(&LazyProblem::with_wide_steps(&self), division);
            self.evaluate_teams(division, known)?;
        }
        self.evaluates_teams = false;
        Ok(self)
    }

    fn evaluate_teams(&self, division: &HostDivision, known: Vec<Plan>) -> Result<(), PipelineError> {
        let search = |problem: &Self| Ok(HostSearch::front(problem, division));
        // What does not fit is no reason to give others up.
        let is_beaten = |hoped: &Plan, known: &[Plan]| {
            let beats =
                |plan: &Plan| is_beaten_in_both(hoped, std::slice::from_ref(plan)) && self.exceeded_by(plan).is_none();
            known.iter().any(beats)
        };
        evaluate_promising_teams(self, known, None, search, is_beaten, MOST_ROUNDS)
    }

    /// What is found among plans that are divided so: without teams at first, of which there are those that others
    /// propose where memories have no room for all of it, and then with teams.
    fn searched(&self, division: &HostDivision, others: impl Fn() -> Vec<Plan>) -> Result<SystemFront, PipelineError> {
        if !self.has_teams() {
            return self.fitting(HostSearch::front(self, division), division, others);
        }
        let singles = self.clone().without_teams();
        let on_singles = singles.fitting(HostSearch::front(&singles, division), division, others);
        let found = match &on_singles {
            Ok(front) => front.plans.clone(),
            Err(_) => Vec::new(),
        };
        let with_teams = self.plans_with_teams(division, found.clone())?;
        if with_teams.is_empty() {
            return on_singles;
        }
        let (shortest_without_teams, is_exact) =
            on_singles.map_or((None, false), |front| (front.shortest_without_teams, front.is_exact));
        let mut plans = found;
        plans.extend(with_teams);
        keep_undominated(&mut plans, |plan| (plan.latency, plan.period));
        Ok(SystemFront { plans, shortest_without_teams, is_exact })
    }

    /// What is found with teams, where these plans are known, as far as it fits into the memories.
    fn plans_with_teams(&self, division: &HostDivision, known: Vec<Plan>) -> Result<Vec<Plan>, PipelineError> {
        if self.evaluates_teams {
            self.evaluate_teams(division, known)?;
        }
        let mut plans = HostSearch::front(self, division);
        plans.retain(|plan| plan.has_teams() && self.exceeded_by(plan).is_none());
        self.raise_to_links(&mut plans);
        Ok(plans)
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
            return Ok(SystemFront::new(plans, !is_held_up));
        };
        let single = self.clone().without_replicas();
        plans.extend(HostSearch::front(&single, division));
        plans.extend(HostSearch::front(&single, &division.clone().with_single_stages()));
        plans.extend(others());
        plans.retain(|plan| self.exceeded_by(plan).is_none());
        self.raise_to_links(&mut plans);
        keep_undominated(&mut plans, |plan| (plan.latency, plan.period));
        if plans.is_empty() { Err(exceeded) } else { Ok(SystemFront::new(plans, false)) }
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
