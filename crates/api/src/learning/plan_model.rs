//! The search's model of a network's plans on this computer, which every trial corrects.

use millstream_board::Board;
use millstream_pipeline::{Objective, Plan, score};
use millstream_predict::samples::SegmentSample;
use millstream_predict::{Profile, fit};
use millstream_tune::{Proposal, Score, TimeModel, TuneError};

use crate::control::Control;
use crate::error::Error;
use crate::interference::Interference;
use crate::learning::candidate::Candidate;
use crate::learning::trial::PlanTrial;
use crate::measuring::disturbed::contradiction;
use crate::network::Network;
use crate::plans::Plans;
use crate::plans::search::SearchInputs;

/// What is known of a network's plans: a profile that trials add to, and the search on it.
pub(super) struct PlanModel<'a> {
    pub(super) network: &'a Network,
    pub(super) board: &'a Board,
    pub(super) profile: &'a mut Profile,
    /// Whether the profile was there before.
    pub(super) is_old: bool,
    pub(super) plans: Plans,
    pub(super) objective: Objective,
    /// Of the trial that was disturbed most.
    pub(super) disturbance: Interference,
    /// What a trial says against an old profile.
    pub(super) contradiction: Option<String>,
    /// Why the search after the last trial failed.
    pub(super) failure: Option<Error>,
}

impl PlanModel<'_> {
    pub(super) fn candidate(&self, plan: &Plan) -> Candidate {
        Candidate { plan: plan.clone(), schedule: self.plans.schedule(plan) }
    }

    /// How far a plan is from the objective: the geometric mean of what counts, with its weights.
    pub(super) fn distance(&self, plan: &Plan) -> Score {
        Score(score(self.objective, plan).exp())
    }

    pub(super) fn is_tried(&self, plan: &Plan) -> bool {
        self.plans.lessons.tried.iter().any(|tried| tried.is_same_pipeline(plan))
    }

    /// What would be chosen of what was tried.
    pub(super) fn best_tried(&self) -> Option<&Plan> {
        self.plans.best_tried(self.objective)
    }

    /// Takes in what some plans showed that took turns.
    pub(super) fn confirm(&mut self, candidates: &[Candidate], seen: &[PlanTrial]) -> Result<(), Error> {
        for (candidate, seen) in candidates.iter().zip(seen) {
            self.note_trial("turns", candidate, seen);
            self.take_over(candidate, seen);
        }
        self.search_again()
    }

    /// Says what a trial showed, and notes how much it was disturbed.
    fn note_trial(&mut self, kind: &str, candidate: &Candidate, seen: &PlanTrial) {
        let configuration = candidate.schedule.to_string();
        let (expected, found) = (candidate.plan.period, seen.measured.period);
        let latency = seen.measured.latency;
        tracing::info!(kind, configuration, %expected, %found, %latency, "trial");
        self.disturbance = self.disturbance.or_greater(seen.disturbance);
    }

    /// What a trial says against the profile. The first one only: later ones are planned with what the first showed.
    fn contradiction(&mut self, plan: &Plan, seen: &PlanTrial) -> Option<String> {
        if !self.plans.lessons.tried.is_empty() {
            return None;
        }
        let known = self.profile.network(self.network.digest())?;
        contradiction(&known.samples, &seen.samples, plan.period, seen.measured.period)
    }

    /// Takes over what a trial showed.
    fn take_over(&mut self, candidate: &Candidate, seen: &PlanTrial) {
        replace_samples(self.profile, self.network, &seen.samples);
        self.plans.lessons.add(&candidate.schedule, seen.measured.clone());
    }

    /// Searches with all that trials have shown.
    fn search_again(&mut self) -> Result<(), Error> {
        let lessons = std::mem::take(&mut self.plans.lessons);
        let (network, board) = (self.network, self.board);
        let table = fit(self.profile, board, network.digest(), network.graph(), network.chain())?;
        // Which driver of a device is used was decided before any was tried.
        let table = table.with_nothing_more_than(&self.plans.table);
        let inputs = SearchInputs { network, board, table: &table };
        // The trials show how far they are; the searches between them are not shown.
        self.plans = Plans::search_again(inputs, self.plans.aim, lessons, &Control::new())?;
        Ok(())
    }
}

impl TimeModel for PlanModel<'_> {
    type Configuration = Candidate;
    type Seen = PlanTrial;

    fn best(&mut self) -> Result<Proposal<Candidate>, TuneError> {
        if self.failure.is_some() || self.contradiction.is_some() {
            return Err(TuneError::Model("the last trial ended the search".into()));
        }
        if let Some(whole) = self.untried_whole() {
            return Ok(Proposal::InAnyCase(self.candidate(&whole)));
        }
        // What counts as near the best throughput depends on what the best really is, so the shortest period is tried
        // in any case.
        let allowed = self.plans.allowed(&self.plans.front);
        let shortest = allowed.iter().min_by_key(|plan| plan.period).copied();
        if let Some(plan) = shortest.filter(|plan| self.objective == Objective::Throughput && !self.is_tried(plan)) {
            return Ok(Proposal::InAnyCase(self.candidate(plan)));
        }
        if let Some(rival) = self.untried_without_teams() {
            return Ok(Proposal::InAnyCase(self.candidate(&rival)));
        }
        // Where nothing keeps to the constraints any more, there is nothing to try either: what was tried is proposed
        // again.
        let best = self.plans.best_on_front(self.objective).or_else(|| self.plans.lessons.tried.first());
        let best = best.ok_or_else(|| TuneError::Model(Box::new(Error::Incomplete { what: "plan to choose from" })))?;
        Ok(Proposal::Gain(self.candidate(best), self.distance(best)))
    }

    fn score(&self, candidate: &Candidate) -> Option<Score> {
        // Only the plan that would be chosen of those that were tried sets the bar for others: one that is out of reach
        // of the best throughput, or does not keep to the constraints, is no rival, however quick it is.
        self.best_tried().filter(|rival| rival.is_same_pipeline(&candidate.plan)).map(|rival| self.distance(rival))
    }

    fn learn(&mut self, candidate: &Candidate, seen: &PlanTrial) {
        self.note_trial("trial", candidate, seen);
        if self.is_old {
            self.contradiction = self.contradiction(&candidate.plan, seen);
        }
        if self.contradiction.is_none() {
            self.take_over(candidate, seen);
            self.failure = self.search_again().err();
        }
    }
}

/// Adds samples to the network's profile; a newer sample of the same segment replaces the older one.
fn replace_samples(profile: &mut Profile, network: &Network, samples: &[SegmentSample]) {
    let digest = network.digest();
    if let Some(measured) = profile.networks.iter_mut().find(|measured| measured.digest == digest) {
        let is_same =
            |a: &SegmentSample, b: &SegmentSample| a.processor == b.processor && a.start == b.start && a.end == b.end;
        measured.samples.retain(|old| !samples.iter().any(|new| is_same(old, new)));
        measured.samples.extend_from_slice(samples);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use millstream_board::ProcessorClass;
    use millstream_cost::Nanoseconds;
    use millstream_onnx::ReadOptions;
    use millstream_predict::samples::{OperatorSample, SampleConditions};
    use millstream_predict::{NetworkProfile, Statistics};
    use millstream_test_support::{board, uniform_table};

    use super::*;
    use crate::plans::Aim;

    /// Two equal cores, on which every operator takes a microsecond.
    pub(in crate::learning) fn plans(network: &Network) -> (Board, Plans) {
        let board = board("B2");
        let table = uniform_table(network.graph(), &board, [1000]);
        let plans = Plans::search(network, &board, &table, Aim::default(), &Control::new()).unwrap();
        (board, plans)
    }

    /// What a profile says of a network whose operators all take so many seconds on each processor.
    pub(crate) fn profiled(
        network: &Network,
        board: &Board,
        seconds: impl Fn(&ProcessorClass) -> f64,
    ) -> NetworkProfile {
        let mut known = NetworkProfile::new(network.digest(), network.graph(), network.chain());
        for processor in board.processor_classes() {
            let sample = |place: usize| OperatorSample {
                processor: processor.clone(),
                operators: vec![place],
                concurrent: 1,
                time: Statistics { median_seconds: seconds(&processor), mad_seconds: 0.0, repetitions: 9 },
                conditions: SampleConditions::default(),
            };
            known.operator_samples.extend((0..network.graph().operators().len()).map(sample));
        }
        known
    }

    /// A profile by which every operator takes a microsecond on any number of cores.
    pub(in crate::learning) fn profile(network: &Network, board: &Board) -> Profile {
        let mut profile = Profile::new(board, crate::provenance());
        profile.networks.push(profiled(network, board, |_| 1e-6));
        profile
    }

    /// A model of plans that were tried for an objective.
    pub(in crate::learning) fn model<'a>(
        network: &'a Network,
        board: &'a Board,
        profile: &'a mut Profile,
        plans: Plans,
        objective: Objective,
    ) -> PlanModel<'a> {
        PlanModel {
            network,
            board,
            profile,
            is_old: false,
            plans,
            objective,
            disturbance: Interference::default(),
            contradiction: None,
            failure: None,
        }
    }

    #[test]
    fn only_what_would_be_chosen_sets_the_bar_for_other_plans() {
        let network = Network::open("zoo:tiny-darknet", ReadOptions::default()).unwrap();
        let (board, mut plans) = plans(&network);
        let [first, .., last] = plans.front.as_slice() else { unreachable!("replicas or stages beat one core") };
        let with = |plan: &Plan, period: u64, latency: u64| Plan {
            period: Nanoseconds(period),
            latency: Nanoseconds(latency),
            ..plan.clone()
        };
        // The second one scores better, but is out of reach of the best throughput.
        let (fast, quick) = (with(last, 10_000, 100_000), with(first, 11_000, 10_000));
        assert!(score(Objective::Throughput, &quick) < score(Objective::Throughput, &fast));
        plans.lessons.tried = vec![fast.clone(), quick.clone()];

        let mut profile = Profile::new(&board, crate::provenance());
        let objective = Objective::Throughput;
        let model = model(&network, &board, &mut profile, plans, objective);

        let [fast, quick] = [fast, quick].map(|plan| model.candidate(&plan));
        assert_eq!(model.score(&quick), None);
        assert_eq!(model.score(&fast), Some(model.distance(&fast.plan)));
        // Whatever its times, a plan of the same pipeline is the same candidate.
        assert!(fast == model.candidate(&with(&fast.plan, 1, 1)) && fast != quick);
    }
}
