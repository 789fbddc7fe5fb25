//! Plans that are tried out: the search's model of a network on this computer, which every trial corrects.

use std::sync::Arc;

use millstream_backend::Backend;
use millstream_board::Board;
use millstream_cost::Nanoseconds;
use millstream_pipeline::{Objective, Plan, choose, pareto_front, score};
use millstream_predict::samples::SegmentSample;
use millstream_predict::{Profile, fit};
use millstream_schedule::Schedule;
use millstream_tune::{ModelGuided, Oracle, TimeModel, TuneError};

use crate::control::Activity;
use crate::disturbance::{DISTURBED, contradiction};
use crate::trial::{self, PlanTrial};
use crate::{Aim, Control, Error, Event, Network, Plans};

/// A trial that takes so many times as long as was expected is repeated: a host that is busy for some seconds shows in no counter.
const SLOWER: f64 = 1.15;

/// What a plan without teams may be predicted above one with teams, and still turn out to be better.
const WORTH_A_TRIAL: f64 = 1.1;

/// What is known of a network before plans are tried out.
pub(crate) struct Known<'a> {
    /// Its profile, to which trials add.
    pub(crate) profile: &'a mut Profile,
    /// Whether that was there before.
    pub(crate) is_old: bool,
}

/// What came of trying plans out.
pub(crate) enum Refined {
    /// Plans, with what the trials showed.
    Plans(Box<Plans>),
    /// A trial says something against the profile, which is not new: text for people.
    Contradicted(String),
}

/// Searches, tries out what the search would choose, learns from it and searches again, for one objective after the other, until
/// nothing promises to be better than what was tried. What was measured is added to the profile. The first trial ends the search if it
/// contradicts an old profile.
pub(crate) fn refine(
    network: &Network,
    board: &Board,
    backend: &Arc<dyn Backend>,
    known: Known<'_>,
    objectives: &[Objective],
    aim: Aim,
    control: &Control,
) -> Result<Refined, Error> {
    let Known { profile, is_old } = known;
    let table = fit(profile, board, network.digest(), network.graph(), network.chain())?;
    let plans = Plans::search(network, board, &table, aim, control)?;
    let search = ModelGuided::default();
    let most = search.trials * objectives.len();
    let steps = control.steps(format!("trying out schedules of {}", network.name()), most);
    let mut trials = Trials { network, board, backend, control, steps, done: 0, most };
    let mut model = PlanModel {
        network,
        board,
        profile,
        is_old,
        plans,
        objective: aim.objective,
        others: 0.0,
        failure: None,
        contradiction: None,
    };

    let mut tried: Vec<Candidate> = Vec::new();
    for &objective in objectives {
        model.objective = objective;
        let explored = search.explore(&mut tried, &mut model, &mut trials);
        if let Some(contradiction) = model.contradiction {
            return Ok(Refined::Contradicted(contradiction));
        }
        match (explored, model.failure.take()) {
            (Err(_), _) if control.is_cancelled() => return Err(Error::Interrupted),
            (_, Some(error)) => return Err(error),
            (Err(error), None) => return Err(error.into()),
            (Ok(()), None) => {}
        }
    }

    if model.others > DISTURBED {
        let activity = format!("trying out schedules of {}", network.name());
        control.tell(&Event::Disturbed { activity: &activity, cores: model.others });
    }
    Ok(Refined::Plans(Box::new(model.plans)))
}

/// A plan as something to try: the same as another if its stages and processors are, whatever their times.
#[derive(Debug, Clone)]
struct Candidate {
    plan: Plan,
    schedule: Schedule,
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.plan.is_same_pipeline(&other.plan)
    }
}

/// What is known of a network's plans: a profile that trials add to, and the search on it.
struct PlanModel<'a> {
    network: &'a Network,
    board: &'a Board,
    profile: &'a mut Profile,
    /// Whether the profile was there before.
    is_old: bool,
    plans: Plans,
    objective: Objective,
    /// How many cores others used during the trial that they disturbed most.
    others: f64,
    /// What a trial says against an old profile.
    contradiction: Option<String>,
    /// Why the search after the last trial failed.
    failure: Option<Error>,
}

impl PlanModel<'_> {
    fn candidate(&self, plan: &Plan) -> Candidate {
        Candidate { plan: plan.clone(), schedule: self.plans.problem.schedule(plan) }
    }

    /// How far a plan is from the objective, as a time: the geometric mean of what counts, with its weights.
    fn distance(&self, plan: &Plan) -> Nanoseconds {
        // In microseconds instead of seconds, so that small networks do not drown in rounding.
        Nanoseconds::from_seconds(1e6 * score(self.objective, plan).exp())
    }

    fn is_tried(&self, plan: &Plan) -> bool {
        self.plans.lessons.tried.iter().any(|tried| tried.is_same_pipeline(plan))
    }

    /// The best plan without teams, if a plan with teams is the best of what was tried and may be so by errors of predictions alone: teams
    /// are predicted from more parts than single processors.
    fn untried_without_teams(&self) -> Option<Plan> {
        let tried = self.plans.allowed(&self.plans.lessons.tried);
        let known = choose(&tried, self.objective).and_then(|index| tried.get(index))?;
        if !known.has_teams() {
            return None;
        }
        let without_teams = pareto_front(&self.plans.problem.clone().without_teams()).ok()?;
        let rivals = self.plans.allowed(&without_teams);
        let rival = choose(&rivals, self.objective).and_then(|index| rivals.get(index).copied())?;
        let is_close = self.distance(rival).seconds() < WORTH_A_TRIAL * self.distance(known).seconds();
        (is_close && !self.is_tried(rival)).then(|| rival.clone())
    }

    /// What a trial says against the profile. The first one only: later ones are planned with what the first showed.
    fn contradiction(&mut self, plan: &Plan, seen: &PlanTrial) -> Option<String> {
        if !self.plans.lessons.tried.is_empty() {
            return None;
        }
        let known = self.profile.network(self.network.digest())?;
        contradiction(&known.samples, &seen.samples, plan.period, seen.measured.period)
    }

    /// Takes over what a trial showed, and searches again.
    fn search_again(&mut self, schedule: &Schedule, seen: &PlanTrial) -> Result<(), Error> {
        replace_samples(self.profile, self.network, &seen.samples);
        let mut lessons = std::mem::take(&mut self.plans.lessons);
        lessons.add(schedule, seen.measured.clone());
        let (network, board) = (self.network, self.board);
        let table = fit(self.profile, board, network.digest(), network.graph(), network.chain())?;
        // The trials show how far they are; the searches between them are not shown.
        self.plans = Plans::search_again((network, board, &table), self.plans.aim, lessons, &Control::new())?;
        Ok(())
    }
}

impl TimeModel for PlanModel<'_> {
    type Configuration = Candidate;
    type Seen = PlanTrial;

    fn best(&mut self) -> Result<(Candidate, Nanoseconds), TuneError> {
        if self.failure.is_some() || self.contradiction.is_some() {
            return Err(TuneError::Model("the last trial ended the search".into()));
        }
        // What counts as near the best throughput depends on what the best really is, so the shortest period is tried in any case.
        let allowed = self.plans.allowed(&self.plans.front);
        let shortest = allowed.last().filter(|plan| self.objective == Objective::Throughput && !self.is_tried(plan));
        if let Some(plan) = shortest {
            return Ok((self.candidate(plan), Nanoseconds::ZERO));
        }
        if let Some(rival) = self.untried_without_teams() {
            return Ok((self.candidate(&rival), Nanoseconds::ZERO));
        }
        // Where nothing keeps to the constraints any more, there is nothing to try either: what was tried is proposed again.
        let best = choose(&allowed, self.objective).and_then(|index| allowed.get(index).copied());
        let best = best.or_else(|| self.plans.lessons.tried.first());
        let best = best.ok_or_else(|| TuneError::Model(Box::new(Error::Incomplete { what: "plan to choose from" })))?;
        Ok((self.candidate(best), self.distance(best)))
    }

    fn period(&self, candidate: &Candidate) -> Nanoseconds {
        // Only the plan that would be chosen of those that were tried sets the bar for others: one that is out of reach of the best
        // throughput, or does not keep to the constraints, is no rival, however quick it is.
        let tried = self.plans.allowed(&self.plans.lessons.tried);
        let rival = choose(&tried, self.objective).and_then(|index| tried.get(index));
        rival
            .filter(|rival| rival.is_same_pipeline(&candidate.plan))
            .map_or(Nanoseconds(u64::MAX), |rival| self.distance(rival))
    }

    fn learn(&mut self, candidate: &Candidate, seen: &PlanTrial) {
        let configuration = candidate.schedule.to_string();
        let (expected, found) = (candidate.plan.period, seen.measured.period);
        let latency = seen.measured.latency;
        tracing::info!(objective = %self.objective, configuration, %expected, %found, %latency, "trial");
        self.others = self.others.max(seen.others);
        if self.is_old {
            self.contradiction = self.contradiction(&candidate.plan, seen);
        }
        if self.contradiction.is_none() {
            self.failure = self.search_again(&candidate.schedule, seen).err();
        }
    }
}

/// Runs plans on this computer.
struct Trials<'a> {
    network: &'a Network,
    board: &'a Board,
    backend: &'a Arc<dyn Backend>,
    control: &'a Control,
    steps: Activity<'a>,
    done: usize,
    most: usize,
}

impl Oracle<Candidate, PlanTrial> for Trials<'_> {
    fn measure(&mut self, candidate: &Candidate) -> Result<PlanTrial, TuneError> {
        let Candidate { plan, schedule } = candidate;
        let run = || {
            let seen = trial::run(self.network, self.board, self.backend, schedule, plan, self.control);
            seen.map_err(|error| TuneError::Oracle { configuration: schedule.to_string(), source: Box::new(error) })
        };
        let mut seen = run()?;
        if seen.others > DISTURBED || seen.measured.period.seconds() > SLOWER * plan.period.seconds() {
            let again = run()?;
            let is_better = match (seen.others > DISTURBED, again.others > DISTURBED) {
                (false, false) => again.measured.period < seen.measured.period,
                _ => again.others < seen.others,
            };
            seen = if is_better { again } else { seen };
        }
        self.done += 1;
        self.steps.set(self.done, self.most);
        Ok(seen)
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
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use millstream_onnx::ReadOptions;
    use millstream_test_support::{board, uniform_table};

    use super::*;
    use crate::lessons::Lessons;

    /// Two equal cores, on which every operator takes a microsecond.
    fn plans(network: &Network) -> (Board, Plans) {
        let board = board("B2");
        let table = uniform_table(network.graph(), &board, [1000]);
        let plans = Plans::search(network, &board, &table, Aim::default(), &Control::new()).unwrap();
        (board, plans)
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
        let model = PlanModel {
            network: &network,
            board: &board,
            profile: &mut profile,
            is_old: false,
            plans,
            objective,
            others: 0.0,
            contradiction: None,
            failure: None,
        };

        let [fast, quick] = [fast, quick].map(|plan| model.candidate(&plan));
        assert_eq!(model.period(&quick), Nanoseconds(u64::MAX));
        assert_eq!(model.period(&fast), model.distance(&fast.plan));
        // Whatever its times, a plan of the same pipeline is the same candidate.
        assert!(fast == model.candidate(&with(&fast.plan, 1, 1)) && fast != quick);
    }

    /// A team that was tried is held to what is predicted without teams, where that is close.
    #[test]
    fn a_team_is_not_chosen_before_its_closest_rival_was_tried() {
        let ground = crate::lessons::tests::ground();
        let mut plans = crate::lessons::tests::search(&ground, Lessons::default());
        let (network, board, _) = &ground;
        let alone = pareto_front(&plans.problem.clone().without_teams()).unwrap().remove(0);
        let team = plans.front[0].clone();
        assert!(team.has_teams() && !alone.has_teams());
        for (part, is_tried) in [(0.95, true), (0.8, false)] {
            let seconds = part * alone.latency.seconds();
            let time = Nanoseconds::from_seconds(seconds);
            let seen = team.clone().with_measured(vec![vec![time]], time);
            plans.lessons.tried = vec![seen.clone()];
            plans.front = vec![seen];

            let mut profile = Profile::new(board, crate::provenance());
            let mut model = PlanModel {
                network,
                board,
                profile: &mut profile,
                is_old: false,
                plans,
                objective: Objective::Latency,
                others: 0.0,
                contradiction: None,
                failure: None,
            };

            let (next, _) = model.best().unwrap();
            assert_eq!(next.plan.is_same_pipeline(&alone), is_tried, "{}", next.plan.configuration());
            // Once it was tried, there is nothing left to try.
            model.plans.lessons.tried.push(alone.clone());
            assert!(model.untried_without_teams().is_none());
            plans = model.plans;
        }
    }
}
