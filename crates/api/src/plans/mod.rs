//! Plans that a search on costs found, and what is chosen from their front.

pub(crate) mod aim;
pub(crate) mod clocks;
pub(crate) mod lessons;
pub(crate) mod other_drivers;
pub(crate) mod search;
pub(crate) mod shared_memory;
pub(crate) mod timed;
pub(crate) mod unsteady;

use millstream_board::{Board, ProcessorClass};
use millstream_cost::{CostTable, Nanoseconds, PowerOrigin};
use millstream_pipeline::{Nanojoules, Objective, PeriodBound, Plan, Problem, TeamSpace, ThroughputBound, choose};
use millstream_schedule::{Prediction, Schedule, ScheduleDocument, SearchedBound, SearchedSpace};
use millstream_sim::SteadyState;

use crate::error::Error;
use crate::network::Network;
use crate::plans::shared_memory::{SharedMemory, simulated};
use crate::schedules::document;
use lessons::Lessons;
use unsteady::{TRIAL_NOISE, is_of_instances};

pub use aim::Aim;
pub use clocks::{choose_clocks, clocks_text};

/// The pipelines that a search went through.
pub(crate) struct ProvenSearch {
    /// The search's problem by the costs alone, without what trials have shown: its teams' dual prices prove the bound,
    /// and certificates take them from here.
    pub(crate) by_costs: Problem,
    /// A period that none of them goes below.
    pub(crate) bound: PeriodBound,
    /// The teams that their stages may run on.
    pub(crate) teams: TeamSpace,
}

/// The plans that a search found for a network on a board, with its bounds.
pub struct Plans {
    /// The search's problem.
    pub(crate) problem: Problem,
    /// The plans that no other beats, in period, latency and, if it was asked for, energy. What was tried has the
    /// numbers that it was seen to have.
    pub front: Vec<Plan>,
    /// The costs that were searched on.
    pub table: CostTable,
    /// What no schedule on the board goes below under these costs.
    pub(crate) bound: ThroughputBound,
    /// The shortest period of all pipelines whose stages run on one processor each, or on replicas of it, under these
    /// costs: exact where memory's bandwidth limits nothing, and not above it where it does. `None` if some stage needs
    /// several, if the memory has no room for it, or if its stages or replicas wait for the same link, so that it takes
    /// longer.
    pub best_on_single_processors: Option<Nanoseconds>,
    /// The space that was searched, and what is proven of it.
    pub(crate) searched: ProvenSearch,
    /// Whether processors compete for the memory's bandwidth, so that plans' numbers are simulated.
    pub competes_for_memory: bool,
    /// Whether some plans' numbers are simulated: for the sake of memory, or because several of their stages, or
    /// replicas of one, wait for the same link.
    pub(crate) is_simulated: bool,
    /// Whether the memory had room for all that the search found
    /// ([`PlansWithinMemory`](millstream_pipeline::PlansWithinMemory)).
    pub(crate) is_whole: bool,
    /// What was asked for.
    pub(crate) aim: Aim,
    pub(crate) lessons: Lessons,
}

impl Plans {
    /// The plan for an objective: among those that were tried, if any were.
    ///
    /// # Errors
    /// [`Error::Pipeline`] if nothing that is left keeps to the constraints.
    pub fn chosen(&self, objective: Objective) -> Result<&Plan, Error> {
        if let Some(plan) = self.best_tried(objective).or_else(|| self.best_of(&self.front, objective)) {
            return Ok(plan);
        }
        // What was tried may have turned out not to keep to the constraints.
        self.aim.limits().among(&self.front)?;
        Err(Error::Incomplete { what: "plan to choose from" })
    }

    /// A plan of this search as a schedule: its classes of processors become cores of the board.
    pub fn schedule(&self, plan: &Plan) -> Schedule {
        self.problem.schedule(plan)
    }

    /// Whether a plan's numbers are those of trials; otherwise they are predicted.
    pub fn is_measured(&self, plan: &Plan) -> bool {
        self.lessons.tried.contains(plan)
    }

    /// The plan on the front that is best for an objective, tried or not.
    pub fn best_on_front(&self, objective: Objective) -> Option<&Plan> {
        self.best_of(&self.front, objective)
    }

    /// The plan for an objective among those that were tried, if any were.
    ///
    /// For throughput, instances of the whole network are preferred to what was quicker by no more than trials differ.
    /// When a core becomes slower than it was in the trials, only the frames of its own instance take longer. All frames
    /// of a pipeline wait for its slowest stage, and cores that share frames wait for the slowest of them.
    pub(crate) fn best_tried(&self, objective: Objective) -> Option<&Plan> {
        let best = self.best_of(&self.lessons.tried, objective)?;
        if objective != Objective::Throughput {
            return Some(best);
        }
        let is_within_noise = |plan: &Plan| plan.period.seconds() <= TRIAL_NOISE * best.period.seconds();
        self.best_instances(is_within_noise).or(Some(best))
    }

    /// For throughput, the instances of the whole network that are best among those that were tried and are wanted.
    pub(crate) fn best_instances(&self, is_wanted: impl Fn(&Plan) -> bool) -> Option<&Plan> {
        let mut instances = self.allowed(&self.lessons.tried);
        instances.retain(|plan| is_of_instances(plan) && is_wanted(plan));
        choose(&instances, Objective::Throughput).and_then(|index| instances.get(index).copied())
    }

    /// The one of some plans that is best for an objective, among those that keep to the constraints.
    pub(crate) fn best_of<'a>(&self, plans: &'a [Plan], objective: Objective) -> Option<&'a Plan> {
        let allowed = self.allowed(plans);
        choose(&allowed, objective).and_then(|index| allowed.get(index).copied())
    }

    /// The plans of the front from the quickest on, each with the objectives that it is best for, and the plan that was
    /// chosen for an objective even where something untried is predicted to be better still.
    pub fn front_with_best<'a>(&'a self, chosen: &'a Plan, objective: Objective) -> Vec<(&'a Plan, Vec<Objective>)> {
        let mut shown: Vec<&Plan> = self.front.iter().collect();
        if !shown.iter().any(|plan| plan.is_same_pipeline(chosen)) {
            shown.push(chosen);
        }
        shown.sort_by_key(|plan| (plan.latency, std::cmp::Reverse(plan.period)));
        let has_energy = shown.iter().all(|plan| plan.energy.is_some());
        let others = Objective::ALL.into_iter().filter(|&other| other != objective);
        let others = others.filter(|&other| other != Objective::Energy || has_energy);
        let mut best: Vec<(&Plan, Objective)> =
            others.filter_map(|other| Some((self.best_on_front(other)?, other))).collect();
        best.push((chosen, objective));
        let best_for = |plan: &Plan| {
            best.iter().filter(|(other, _)| other.is_same_pipeline(plan)).map(|(_, objective)| *objective).collect()
        };
        shown.into_iter().map(|plan| (plan, best_for(plan))).collect()
    }

    /// The plans that keep to the constraints.
    pub(crate) fn allowed<'a>(&self, plans: &'a [Plan]) -> Vec<&'a Plan> {
        let limits = self.aim.limits();
        plans.iter().filter(|plan| limits.allow(plan)).collect()
    }

    /// Clusters and accelerators of a schedule whose idle power is not known, so that energy counts it as nothing.
    pub fn without_idle_power(&self, schedule: &Schedule) -> Vec<String> {
        let is_unknown = |class: &ProcessorClass| {
            let power = self.table.find(class).and_then(|processor| self.table.power(processor));
            power.is_some_and(|power| power.origin == PowerOrigin::PublishedAtWork)
        };
        let classes = schedule.processors().map(|processor| processor.class()).filter(is_unknown);
        let mut labels: Vec<String> = classes.map(|class| class.cluster).collect();
        labels.sort();
        labels.dedup();
        labels
    }

    /// What the search has proven of everything that it went through. `millstream-certify` works the space out by
    /// itself and refuses a schedule that names another one.
    fn searched_bound(&self) -> SearchedBound {
        let ProvenSearch { bound: PeriodBound(period), teams, .. } = self.searched;
        let TeamSpace { most_processors, spans_clusters, has_all_counts } = teams;
        let space = match most_processors {
            0 => SearchedSpace::SingleProcessors,
            _ => {
                let has_links = self.problem.has_links();
                SearchedSpace::Teams { most_processors, spans_clusters, has_all_counts, has_links }
            }
        };
        SearchedBound { period_seconds: period.seconds(), space }
    }

    /// The schedule of a plan, and its file: with the numbers of its trial if it was tried, else with those by the
    /// costs.
    ///
    /// # Errors
    /// [`Error::Simulation`] if it can't be simulated.
    pub fn document(
        &self,
        plan: &Plan,
        objective: Objective,
        network: &Network,
        board: &Board,
    ) -> Result<(Schedule, ScheduleDocument), Error> {
        let schedule = self.schedule(plan);
        let is_measured = self.is_measured(plan);
        // What trials of other plans have taught was not measured with this one.
        let is_taught = !is_measured && !self.lessons.tried.is_empty();
        let by_costs = is_taught.then(|| self.by_costs(plan, network, board)).transpose()?;
        let plan = by_costs.as_ref().unwrap_or(plan);

        let predicted = Prediction {
            period_seconds: plan.period.seconds(),
            latency_seconds: plan.latency.seconds(),
            is_measured,
            lower_bound_period_seconds: self.bound.period.seconds(),
            // What is proven of a space says nothing of a plan outside it.
            searched: self.problem.contains(plan).then(|| self.searched_bound()),
            replica_seconds: replica_seconds(plan),
            joules_per_frame: plan.energy.map(Nanojoules::joules),
            watts: plan.watts(),
        };
        let algorithm = SearchKind {
            has_teams: self.problem.has_teams(),
            is_simulated: self.is_simulated,
            wants_energy: self.aim.wants_energy,
            is_whole: self.is_whole,
        };
        let document = document(&schedule, predicted, &algorithm.name(), objective, network, board);
        Ok((schedule, ScheduleDocument { constraints: self.aim.stated(), ..document }))
    }

    /// The plan with what it takes by the costs alone, simulated as searches do where processors compete for memory or
    /// stages wait for links.
    fn by_costs(&self, plan: &Plan, network: &Network, board: &Board) -> Result<Plan, Error> {
        let (table, frames) = (&self.table, SteadyState::FRAMES);
        let plan = match SharedMemory::new(network, board, table) {
            Some(memory) => memory.simulated(&self.problem, plan, frames)?,
            None => simulated(plan, &self.schedule(plan), network, table, None, frames)?,
        };
        Ok(Plan { period: plan.period.max(self.bound.period), ..plan })
    }
}

/// Per stage of a plan, the time of each replica for a frame.
pub(crate) fn replica_seconds(plan: &Plan) -> Vec<Vec<f64>> {
    plan.stages.iter().map(|stage| stage.times().iter().map(|time| time.seconds()).collect()).collect()
}

/// What names the search that found a schedule.
#[derive(Debug, Clone, Copy)]
struct SearchKind {
    /// Whether stages of several processors were looked at.
    has_teams: bool,
    /// Whether simulations chose among what was found.
    is_simulated: bool,
    /// Whether energy was wanted.
    wants_energy: bool,
    /// Whether the memory had room for all that was found.
    is_whole: bool,
}

impl SearchKind {
    /// Exact without teams, where energies are within [`search::ENERGY_TOLERANCE`] of the least; with teams it is a
    /// heuristic that evaluates those of which estimates promise something; where the memory has no room for something
    /// that was found, the best of what fits of it; where processors compete for memory, or stages or replicas for
    /// links, simulations show which of its results is best.
    fn name(self) -> String {
        let search = match (self.has_teams, self.is_whole, self.wants_energy) {
            (true, _, _) => "teams-by-bounds",
            (false, false, _) => "best-found-within-memory",
            (false, true, true) => "exact-with-energy-within-1-percent",
            (false, true, false) => "exact",
        };
        format!("{search}{}", if self.is_simulated { "-then-simulated" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use millstream_test_support::board;

    use super::*;
    use crate::plans::lessons::tests::{instance, instance_on, search};

    #[test]
    fn what_is_proven_of_a_space_is_only_said_of_plans_in_it() {
        let instance = instance();
        let (network, board) = (&instance.network, &instance.board);
        let mut plans = search(instance.inputs(), Lessons::default());
        let searched = |plans: &Plans, plan: &Plan| {
            plans.document(plan, Objective::Latency, network, board).unwrap().1.predicted.searched
        };
        assert!(plans.front.iter().all(|plan| searched(&plans, plan).is_some()));

        let (team, alone) =
            (plans.front[0].clone(), plans.front.iter().find(|plan| !plan.has_teams()).cloned().unwrap());
        assert!(team.has_teams());
        plans.problem = plans.problem.without_teams();
        assert!(searched(&plans, &alone).is_some());
        assert_eq!(searched(&plans, &team), None, "a search without teams went through no such plan");
    }

    /// Not where they pass fewer frames by more than that or break a constraint, and not for other objectives.
    #[test]
    fn replicas_are_preferred_to_what_is_quicker_by_the_noise_of_trials() {
        let instance = instance_on(board("B2+s2"));
        let mut plans = search(instance.inputs(), Lessons::default());
        let found =
            |is_wanted: &dyn Fn(&Plan) -> bool| plans.front.iter().find(|plan| is_wanted(plan)).cloned().unwrap();
        let replicas = found(&is_of_instances);
        let shared = found(&|plan| plan.stages.len() == 1 && !is_of_instances(plan));
        let pipeline = found(&|plan| plan.stages.len() == 2);
        let timed = |plan: &Plan, period| Plan { period, latency: period, ..plan.clone() };
        let chooses_replicas = |plans: &mut Plans, other: &Plan, period: u64, objective| {
            plans.lessons.tried = vec![timed(other, Nanoseconds(1_000_000)), timed(&replicas, Nanoseconds(period))];
            plans.chosen(objective).unwrap().is_same_pipeline(&replicas)
        };

        for other in [&pipeline, &shared] {
            for (period, expected) in [(990_000, true), (1_025_000, true), (1_035_000, false)] {
                let chosen = chooses_replicas(&mut plans, other, period, Objective::Throughput);
                assert_eq!(chosen, expected, "{period}");
            }
            assert!(!chooses_replicas(&mut plans, other, 1_025_000, Objective::Latency));
        }

        // Cores that share frames wait for each other as stages do.
        plans.lessons.tried = vec![timed(&pipeline, Nanoseconds(1_000_000)), timed(&shared, Nanoseconds(1_025_000))];
        assert!(plans.chosen(Objective::Throughput).unwrap().is_same_pipeline(&pipeline));
        plans.aim.constraints.max_latency = Some(Nanoseconds(1_010_000));
        assert!(!chooses_replicas(&mut plans, &pipeline, 1_025_000, Objective::Throughput), "they take too long");
    }

    /// What memory left out of a front makes it one of those that were found.
    #[test]
    fn only_searches_that_had_room_for_everything_are_called_exact() {
        let name = |has_teams, is_simulated, wants_energy, is_whole| {
            SearchKind { has_teams, is_simulated, wants_energy, is_whole }.name()
        };
        assert_eq!(name(false, false, false, true), "exact");
        assert_eq!(name(false, true, true, true), "exact-with-energy-within-1-percent-then-simulated");
        for wants_energy in [false, true] {
            assert_eq!(name(false, false, wants_energy, false), "best-found-within-memory");
        }
        assert!((0..8).all(|bits| !name(true, bits & 1 > 0, bits & 2 > 0, bits & 4 > 0).contains("exact")));

        let found =
            |board: &str| search(instance_on(millstream_test_support::board(board)).inputs(), Lessons::default());
        assert!(
            found("B2").is_whole && !found("B2!20000000").is_whole,
            "one stage fits into 20 MB, two replicas do not"
        );
    }

    /// After trials, a plan that was not tried has numbers that nobody measured.
    #[test]
    fn only_what_was_tried_is_called_measured() {
        let instance = instance_on(board("B2+s2"));
        let (network, board) = (&instance.network, &instance.board);
        let found = search(instance.inputs(), Lessons::default());
        let mut tried = found.front[0].clone();
        tried.period = Nanoseconds(2 * tried.period.0);
        let mut lessons = Lessons::default();
        lessons.tried.push(tried.clone());
        let plans = search(instance.inputs(), lessons);
        let predicted = |plan: &Plan| plans.document(plan, Objective::Latency, network, board).unwrap();

        let (_, document) = predicted(&tried);
        assert!(document.predicted.is_measured);
        assert_eq!(document.predicted.period_seconds, tried.period.seconds());
        let other = plans.front.iter().find(|plan| !plan.is_same_pipeline(&tried)).unwrap();
        let (schedule, document) = predicted(other);
        let by_costs = schedule.evaluate(network.graph(), &plans.table).unwrap();
        assert!(!document.predicted.is_measured);
        assert_eq!(document.predicted.period_seconds, by_costs.period.seconds());
    }
}
