//! Plans that are tried out on this computer, each of which teaches the next search.

mod by_turns;
mod candidate;
pub(crate) mod measured;
mod noise;
pub(crate) mod plan_model;
mod rivals;
mod trial;

use std::sync::Arc;

use millstream_backend::Backend;
use millstream_board::Board;
use millstream_cost::CostTable;
use millstream_pipeline::{Objective, Plan};
use millstream_predict::Profile;
use millstream_tune::{ModelGuided, Oracle, TuneError};

use crate::control::{Activity, Control};
use crate::error::Error;
use crate::interference::Interference;
use crate::measuring::disturbed;
use crate::network::Network;
use crate::plans::unsteady::is_unsteady;
use crate::plans::{Aim, Plans};
use candidate::Candidate;
use plan_model::PlanModel;
use trial::{PlanTrial, Setting};

/// A trial that takes so many times as long as was expected is repeated: a host that is busy for some seconds shows in
/// no counter.
const SLOWER: f64 = 1.15;

/// Once it is known how good the best plan is, there is another search: in its trial, it may have been lucky.
const SEARCHES: usize = 2;
/// Plans take turns so many times at the most. Whenever they do, one more may turn out to be in doubt.
const MOST_RUNS: usize = 3;

/// What is known of a network before plans are tried out.
pub(crate) struct Known<'a> {
    /// Its profile, to which trials add.
    pub(crate) profile: &'a mut Profile,
    /// The costs that the profile gives.
    pub(crate) table: CostTable,
    /// Whether that was there before.
    pub(crate) is_old: bool,
}

/// The outcome of trying plans out.
pub(crate) enum Refined {
    /// Plans, with what the trials showed.
    Plans(Box<Plans>),
    /// A trial says something against the profile, which is not new: text for people.
    Contradicted(String),
}

/// Searches, tries out what the search would choose, learns from it and searches again, for one objective after the
/// other, until nothing promises to be better than what was tried, or ten were. The best plan that leaves the network
/// whole is among these where it may be better. Then what would be chosen, and what is as good but for noise, take turns:
/// the best of many single trials is often the one that was luckiest. If something else promises more once that is known,
/// it is tried as well. What was measured is added to the profile. The first trial ends the search if it contradicts an
/// old profile.
pub(crate) fn refine(
    network: &Network,
    board: &Board,
    backend: &Arc<dyn Backend>,
    known: Known<'_>,
    objectives: &[Objective],
    aim: Aim,
    control: &Control,
) -> Result<Refined, Error> {
    let Known { profile, table, is_old } = known;
    let plans = Plans::search(network, board, &table, aim, control)?;

    let search = ModelGuided::default();
    let most = search.trials * objectives.len();
    let activity = format!("trying out schedules of {}", network.name());
    let steps = control.steps(activity.clone(), most);
    let mut trials = Trials { setting: Setting { network, board, backend, control }, steps, done: 0, most };
    let mut model = PlanModel {
        network,
        board,
        profile,
        is_old,
        plans,
        objective: aim.objective,
        disturbance: Interference::default(),
        failure: None,
        contradiction: None,
    };

    let mut tried: Vec<Candidate> = Vec::new();
    for _ in 0..SEARCHES {
        let before = tried.len();
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
        if tried.len() == before {
            break;
        }
        confirm(objectives, &mut model, &mut trials, control)?;
    }

    disturbed::report(&activity, model.disturbance, control);
    Ok(Refined::Plans(Box::new(model.plans)))
}

/// What lets plans take turns.
trait ByTurns {
    /// What each of the plans shows.
    ///
    /// # Errors
    /// [`TuneError::Oracle`] if one does not run.
    fn by_turns(&mut self, candidates: &[Candidate]) -> Result<Vec<PlanTrial>, TuneError>;
}

/// Lets what would be chosen for each of the objectives take turns with what may be better but for noise of the trials. If
/// others may be better then, they take turns with all of these. What each shows there counts in the place of what it had
/// shown before, so that plans are compared in the same minutes.
fn confirm(
    objectives: &[Objective],
    model: &mut PlanModel<'_>,
    trials: &mut impl ByTurns,
    control: &Control,
) -> Result<(), Error> {
    let mut compared: Vec<Candidate> = Vec::new();
    for _ in 0..MOST_RUNS {
        let before = compared.len();
        for &objective in objectives {
            model.objective = objective;
            for candidate in model.in_doubt() {
                if !compared.contains(&candidate) {
                    compared.push(candidate);
                }
            }
        }
        if compared.len() == before {
            break;
        }

        let seen = match trials.by_turns(&compared) {
            Err(_) if control.is_cancelled() => return Err(Error::Interrupted),
            seen => seen?,
        };
        model.confirm(&compared, &seen)?;
    }
    Ok(())
}

/// Runs plans on this computer.
struct Trials<'a> {
    setting: Setting<'a>,
    steps: Activity<'a>,
    done: usize,
    most: usize,
}

impl Trials<'_> {
    /// One more trial, or several, are done.
    fn count(&mut self, trials: usize) {
        self.done += trials;
        self.steps.set(self.done, self.most.max(self.done));
    }
}

impl Oracle<Candidate, PlanTrial> for Trials<'_> {
    fn measure(&mut self, candidate: &Candidate) -> Result<PlanTrial, TuneError> {
        let run = || trial::run(self.setting, candidate).map_err(|error| candidate.failure(error));
        let mut seen = run()?;
        if is_doubtful(&seen, &candidate.plan) {
            let again = run()?;
            let is_better = match (seen.disturbance.is_significant(), again.disturbance.is_significant()) {
                (false, false) => again.measured.period < seen.measured.period,
                _ => again.disturbance < seen.disturbance,
            };
            seen = if is_better { again } else { seen };
        }
        self.count(1);
        Ok(seen)
    }
}

impl ByTurns for Trials<'_> {
    fn by_turns(&mut self, candidates: &[Candidate]) -> Result<Vec<PlanTrial>, TuneError> {
        let disturbance = |seen: &[PlanTrial]| seen.first().map(|trial| trial.disturbance).unwrap_or_default();
        let mut seen = by_turns::run(self.setting, candidates)?;
        if disturbance(&seen).is_significant() {
            let again = by_turns::run(self.setting, candidates)?;
            seen = if disturbance(&again) < disturbance(&seen) { again } else { seen };
        }
        self.count(candidates.len());
        Ok(seen)
    }
}

/// Whether a trial of a plan should be run again: others disturbed it, or it was slow. An unsteady plan is slow at times,
/// and that should be seen.
fn is_doubtful(seen: &PlanTrial, plan: &Plan) -> bool {
    let is_slow = seen.measured.period.seconds() > SLOWER * plan.period.seconds();
    seen.disturbance.is_significant() || is_slow && !is_unsteady(plan)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use millstream_cost::Nanoseconds;
    use millstream_onnx::ReadOptions;
    use millstream_pipeline::whole_network_plans;

    use super::*;
    use crate::learning::plan_model::tests::{model, plans, profile};

    /// Shows what some numbers make of plans that take turns, one for each, and notes which did.
    struct Shown {
        numbers: Vec<Vec<u64>>,
        show: fn(&Plan, u64) -> Plan,
        run: Vec<Vec<String>>,
    }

    impl ByTurns for Shown {
        fn by_turns(&mut self, candidates: &[Candidate]) -> Result<Vec<PlanTrial>, TuneError> {
            self.run.push(candidates.iter().map(|candidate| candidate.plan.configuration()).collect());
            let numbers = self.numbers.remove(0);
            assert_eq!(numbers.len(), candidates.len());
            let trial = |(candidate, number): (&Candidate, u64)| PlanTrial::of((self.show)(&candidate.plan, number));
            Ok(candidates.iter().zip(numbers).map(trial).collect())
        }
    }

    /// A plan of one stage that takes a hundredth of so many milliseconds.
    fn taking(plan: &Plan, hundredths: u64) -> Plan {
        let time = Nanoseconds(10_000 * hundredths);
        plan.clone().with_measured(vec![vec![time]], time)
    }

    /// The plan, with a period of so many milliseconds, and stages of eleven, in which no frame is short.
    fn seen(plan: &Plan, milliseconds: u64) -> Plan {
        let eleven = |stage: &millstream_pipeline::PlannedStage| vec![Nanoseconds(11_000_000); stage.replicas.len()];
        let times = plan.stages.iter().map(eleven).collect();
        plan.clone().with_measured(times, Nanoseconds(1_000_000 * milliseconds))
    }

    /// Which plans take turns of some, by their names, that were seen to take so many, and what is chosen for each
    /// objective then.
    fn confirmed(
        objectives: &[Objective],
        tried: &[(&str, u64)],
        show: fn(&Plan, u64) -> Plan,
        numbers: &[&[u64]],
    ) -> (Vec<Vec<String>>, Vec<String>) {
        let network = Network::open("zoo:tiny-darknet", ReadOptions::default()).unwrap();
        let (board, mut plans) = plans(&network);
        let wholes = whole_network_plans(&plans.problem);
        let with = |name: &str| wholes.iter().find(|plan| plan.configuration() == name).unwrap();
        plans.lessons.tried = tried.iter().map(|&(name, number)| show(with(name), number)).collect();

        let mut profile = profile(&network, &board);
        let mut model = model(&network, &board, &mut profile, plans, objectives[0]);
        let numbers = numbers.iter().map(|numbers| numbers.to_vec()).collect();
        let mut shown = Shown { numbers, show, run: Vec::new() };
        confirm(objectives, &mut model, &mut shown, &Control::new()).unwrap();
        assert!(shown.numbers.is_empty() && model.plans.lessons.tried.len() == tried.len());
        let best = |objective: &Objective| model.plans.best_tried(*objective).unwrap().configuration();
        (shown.run, objectives.iter().map(best).collect())
    }

    /// What was lucky once does not win: it takes turns with what may be better, and counts with what it shows there.
    #[test]
    fn the_best_of_what_was_tried_takes_turns_with_what_may_be_better() {
        let both = ["B2", "(B1|B1)"];
        let from_instances = ["(B1|B1)", "B2"];
        for (instances, shown, run, chosen) in [
            // Instances run beside what is better in any case: one may have been lucky, or the other not.
            (140, [90_u64, 140], both, "B2"),
            (140, [99, 96], both, "(B1|B1)"),
            (95, [91, 98], both, "B2"),
            // As good but for noise, for which instances are chosen.
            (92, [94, 70], from_instances, "B2"),
            (92, [92, 91], from_instances, "(B1|B1)"),
        ] {
            let (seen_to_run, best) =
                confirmed(&[Objective::Throughput], &[("B2", 90), ("(B1|B1)", instances)], seen, &[&shown]);
            assert_eq!((seen_to_run, best[0].as_str()), (vec![run.map(str::to_owned).to_vec()], chosen));
        }
    }

    /// Only the best of them do, beside what is quicker and no instance.
    #[test]
    fn instances_that_are_slower_than_others_take_no_turns() {
        let (run, best) = confirmed(&[Objective::Throughput], &[("B1", 90), ("(B1|B1)", 95)], seen, &[&[91]]);
        assert_eq!((run, best), (vec![vec!["B1".to_owned()]], vec!["B1".to_owned()]));
    }

    /// What one objective needs is compared in the same minutes as what another one does.
    #[test]
    fn plans_of_all_objectives_take_turns_once() {
        let tried = [("B2", 104), ("(B1|B1)", 100)];
        for [first, second] in
            [[Objective::Throughput, Objective::Latency], [Objective::Latency, Objective::Throughput]]
        {
            // For latency, both are in doubt.
            let (run, best) = confirmed(&[first, second], &tried, taking_alike, &[&[100, 98]]);
            assert_eq!(run, [["(B1|B1)", "B2"]]);
            let expected = |objective| if objective == Objective::Latency { "B2" } else { "(B1|B1)" };
            assert_eq!(best, [expected(first), expected(second)]);
        }
    }

    /// In the second minute all are slower: the first two are compared in it again.
    #[test]
    fn plans_that_come_into_doubt_later_take_turns_with_all_before() {
        let tried = [("B2", 100), ("(B1|B1)", 102), ("B1", 104)];
        let shown: &[&[u64]] = &[&[110, 102], &[130, 125, 116]];
        let (run, best) = confirmed(&[Objective::Balanced], &tried, taking_alike, shown);
        assert_eq!(run, [vec!["B2", "(B1|B1)"], vec!["B2", "(B1|B1)", "B1"]]);
        assert_eq!(best, ["B1"]);
    }

    /// For throughput, what is better than two cores on short frames in a slow minute takes turns with them.
    #[test]
    fn two_cores_on_short_frames_take_turns_with_what_is_up_to_twice_as_slow() {
        for (alone, run) in [(199, vec!["B2", "(B1|B1)", "B1"]), (209, vec!["B2", "(B1|B1)"])] {
            let shown: &[u64] = if run.len() == 3 { &[150, 160, 139] } else { &[100, 120] };
            let tried = [("B2", 100), ("(B1|B1)", 120), ("B1", alone)];
            let (seen_to_run, best) = confirmed(&[Objective::Throughput], &tried, seen_short, &[shown]);
            assert_eq!(seen_to_run, [run.iter().map(ToString::to_string).collect::<Vec<_>>()]);
            assert_eq!(best, [if run.len() == 3 { "B1" } else { "B2" }]);
        }
    }

    /// A plan of which frames take as many hundredths of a millisecond as there are between them.
    fn taking_alike(plan: &Plan, hundredths: u64) -> Plan {
        let time = Nanoseconds(10_000 * hundredths);
        let times = plan.stages.iter().map(|stage| vec![time; stage.replicas.len()]).collect();
        plan.clone().with_measured(times, time)
    }

    /// The plan of one stage, with a period of so many hundredths of a millisecond: its frames are short.
    fn seen_short(plan: &Plan, hundredths: u64) -> Plan {
        let replicas = plan.stages[0].replicas.len();
        let time = Nanoseconds(10_000 * hundredths * replicas as u64);
        plan.clone().with_measured(vec![vec![time; replicas]], Nanoseconds(10_000 * hundredths))
    }

    #[test]
    fn what_was_slow_is_run_again_but_for_unsteady_plans() {
        let network = Network::open("zoo:tiny-darknet", ReadOptions::default()).unwrap();
        let (_, plans) = plans(&network);
        for (name, hundredths, is_again) in
            [("B2", 120, false), ("(B1|B1)", 120, true), ("(B1|B1)", 110, false), ("B1", 120, true)]
        {
            let wholes = whole_network_plans(&plans.problem);
            let planned = seen_short(wholes.iter().find(|plan| plan.configuration() == name).unwrap(), 100);
            let mut trial = PlanTrial::of(seen_short(&planned, hundredths));
            assert_eq!(is_doubtful(&trial, &planned), is_again, "{name} {hundredths}");
            trial.disturbance = Interference { other_cores: 1.0, ..Interference::default() };
            assert!(is_doubtful(&trial, &planned), "others disturbed it");
        }
    }

    /// How soon two cores hear of each other changes between trials.
    #[test]
    fn for_latency_what_shares_frames_takes_turns_in_a_wider_noise() {
        for (shared, alone, shown, run, chosen) in [
            // The trial of two cores was in a slow minute.
            (136, 100, &[100_u64, 93] as &[u64], &["B1", "B2"] as &[&str], "B2"),
            (136, 100, &[100, 136], &["B1", "B2"], "B1"),
            (100, 109, &[100, 109], &["B2", "B1"], "B2"),
            // Too far from each other.
            (206, 100, &[100], &["B1"], "B1"),
        ] {
            let (seen_to_run, best) =
                confirmed(&[Objective::Latency], &[("B2", shared), ("B1", alone)], taking, &[shown]);
            assert_eq!(seen_to_run, [run.iter().map(ToString::to_string).collect::<Vec<_>>()]);
            assert_eq!(best, [chosen]);
        }
    }
}
