//! Simple plans that are tried though the search promises more of others, in case the promise is wrong.

use millstream_board::{Cluster, EngineName};
use millstream_cost::Nanoseconds;
use millstream_pipeline::{
    Objective, Plan, PlannedReplica, PlannedStage, Problem, choose, pareto_front, whole_network_plans,
};
use millstream_schedule::replicated_period;

use crate::learning::noise::whole_frame_noise;
use crate::learning::plan_model::PlanModel;
use crate::plans::timed::with_what_has_times;
use crate::plans::unsteady::several_cores;

/// A simple plan is worth a trial if it would be chosen in case it took its predicted times divided by this, or by more
/// where several cores have the whole network (`PlanModel::hope`).
const WORTH_A_TRIAL: f64 = 1.1;

/// Users would try an instance on each core with each engine. That is worth a trial if it may be the best but for times that
/// were measured in a minute that was so many times slower.
const INSTANCES_NOISE: f64 = 1.3;

impl PlanModel<'_> {
    /// The best plan without teams, if a plan with teams is the best of what was tried and may be so by errors of
    /// predictions alone: teams are predicted from more parts than single processors.
    pub(super) fn untried_without_teams(&self) -> Option<Plan> {
        let known = self.best_tried()?;
        if !known.has_teams() {
            return None;
        }
        let without_teams = pareto_front(&self.plans.problem.clone().without_teams()).ok()?;
        let rival = self.plans.best_of(&without_teams, self.objective)?;
        self.is_worth_a_trial(rival, known, WORTH_A_TRIAL).then(|| rival.clone())
    }

    /// The best plan that leaves the network whole, on one processor or on many, if that may be better than what was
    /// tried. Where some part was measured as too quick, one pipeline after the other promises more than these, and none
    /// keeps it; of engines that take about as long, either may turn out to be quicker, and so may an instance on each
    /// core beside one on all.
    pub(super) fn untried_whole(&self) -> Option<Plan> {
        if self.plans.lessons.tried.is_empty() {
            return None;
        }
        let wholes = self.whole_plans().concat();
        let untried = wholes.iter().filter(|whole| !self.is_tried(whole) && !self.is_part_of_tried(whole));
        let mut untried: Vec<Plan> = untried.map(|whole| self.with_seen_times(whole.clone())).collect();
        // Nothing that was tried may have kept to the constraints.
        if let Some(known) = self.best_tried() {
            untried.retain(|whole| self.is_worth_a_trial(whole, known, self.hope(whole, &wholes)));
        }
        self.plans.best_of(&untried, self.objective).cloned()
    }

    /// Plans that leave the network whole: with the engine that is predicted to be quickest on each processor, and with
    /// each of several engines wherever there is a choice.
    fn whole_plans(&self) -> Vec<Vec<Plan>> {
        let mut plans = vec![whole_network_plans(&self.plans.problem)];
        let (network, table) = (self.network, &self.plans.table);
        let board = with_what_has_times(self.board, table);
        let engines: Vec<EngineName> = board.engines_in_use().collect();
        for &engine in engines.iter().filter(|_| engines.len() > 1) {
            let chosen = |cluster: &Cluster| {
                let has_choice = cluster.engines.contains(engine);
                if has_choice { engine.into() } else { cluster.engines.clone() }
            };
            let chosen = board.clusters().iter().map(|cluster| (cluster.label.clone(), chosen(cluster))).collect();
            let board = board.clone().with_engines_of(&chosen);
            let problem = Problem::new(network.graph(), network.chain(), &board, table);
            plans.extend(problem.as_ref().map(whole_network_plans));
        }
        plans
    }

    /// A plan of one stage for throughput with the mean times that replicas of it had in trials, beside whichever others.
    /// What is predicted may be wrong by the same part for all of them, and a rival is not to be held to that where it is
    /// known better. For latency these are not better known: instances may have held each other up.
    fn with_seen_times(&self, whole: Plan) -> Plan {
        let ([stage], Objective::Throughput) = (whole.stages.as_slice(), self.objective) else { return whole };
        let seen: Vec<&PlannedReplica> = self.tried_of_one_stage().flat_map(|stage| &stage.replicas).collect();
        let time_of = |replica: &PlannedReplica| {
            let alike = seen.iter().filter(|seen| seen.processors == replica.processors).map(|seen| seen.time);
            let times: Vec<Nanoseconds> = alike.collect();
            let count = times.len() as f64;
            let sum: Nanoseconds = times.into_iter().sum();
            if count > 0.0 { Nanoseconds::from_seconds(sum.seconds() / count) } else { replica.time }
        };

        let (predicted, times) = (stage.times(), stage.replicas.iter().map(time_of).collect::<Vec<_>>());
        if times == predicted {
            return whole;
        }
        // A predicted period that is longer than that of the replicas is that of a link, which none of them makes quicker.
        let of_replicas = replicated_period(&times);
        let is_held_by_link = whole.period > replicated_period(&predicted);
        let period = if is_held_by_link { whole.period.max(of_replicas) } else { of_replicas };
        whole.with_measured(vec![times], period)
    }

    /// Whether a trial has run all replicas of this plan of one stage already, beside others. For latency that does not
    /// count: they may have held each other up.
    fn is_part_of_tried(&self, whole: &Plan) -> bool {
        let [stage] = whole.stages.as_slice() else { return false };
        if self.objective != Objective::Throughput {
            return false;
        }
        self.tried_of_one_stage().any(|other| {
            let is_there =
                |replica: &PlannedReplica| other.replicas.iter().any(|own| own.processors == replica.processors);
            stage.replicas.len() <= other.replicas.len() && stage.replicas.iter().all(is_there)
        })
    }

    /// The stages of tried plans that leave the network whole.
    fn tried_of_one_stage(&self) -> impl Iterator<Item = &PlannedStage> {
        self.plans.lessons.tried.iter().filter_map(|tried| match tried.stages.as_slice() {
            [stage] => Some(stage),
            _ => None,
        })
    }

    /// How many times less a plan that leaves the network whole may take than predicted. More for some, whose costs may be
    /// of another minute than now: for latency for several cores, which wait for each other, and for throughput for
    /// instances. Of those with one engine, and for latency on one cluster, that goes for the one that is predicted to be
    /// best, or all numbers of cores would be tried on a large cluster.
    fn hope(&self, whole: &Plan, wholes: &[Plan]) -> f64 {
        let Some(group) = self.group_of(whole) else { return WORTH_A_TRIAL };
        let mut alike = wholes.iter().filter(|other| self.group_of(other) == Some(group));
        let (time, noise): (fn(&Plan) -> Nanoseconds, f64) = match self.objective {
            Objective::Throughput => (|plan| plan.period, INSTANCES_NOISE),
            _ => (|plan| plan.latency, whole_frame_noise(whole)),
        };
        let is_best = alike.all(|other| time(whole) <= time(other) || other.is_same_pipeline(whole));
        if is_best { noise } else { WORTH_A_TRIAL }
    }

    /// The cluster, where that matters, and the engine of a plan that has the network whole and whose costs may be of
    /// another minute than now; `None` for others.
    fn group_of<'p>(&self, whole: &'p Plan) -> Option<(Option<&'p str>, EngineName)> {
        match self.objective {
            Objective::Throughput => engine_of_instances(whole).map(|engine| (None, engine)),
            Objective::Latency => several_cores(whole).map(|class| (Some(class.cluster.as_str()), class.engine)),
            Objective::Balanced | Objective::Energy => None,
        }
    }

    /// Whether a plan was not tried, and would be chosen over one that was if it took so many times less than predicted.
    fn is_worth_a_trial(&self, rival: &Plan, known: &Plan, hope: f64) -> bool {
        let hoped = rival.clone().divided_by(hope);
        choose(&[known, &hoped], self.objective) == Some(1) && !self.is_tried(rival)
    }
}

/// The engine of a plan that has the network whole on several single cores, all with the same one.
fn engine_of_instances(plan: &Plan) -> Option<EngineName> {
    let [PlannedStage { replicas, .. }] = plan.stages.as_slice() else { return None };
    let engine = |replica: &PlannedReplica| match replica.processors.as_slice() {
        [core] if core.count == 1 => Some(core.engine),
        _ => None,
    };
    let first = engine(replicas.first()?)?;
    (replicas.len() > 1 && replicas.iter().all(|replica| engine(replica) == Some(first))).then_some(first)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use millstream_board::{Board, ProcessorClass};
    use millstream_onnx::ReadOptions;
    use millstream_predict::Profile;
    use millstream_test_support::{board, table};
    use millstream_tune::{Proposal, TimeModel};

    use super::*;
    use crate::control::Control;
    use crate::learning::plan_model::tests::{model, plans};
    use crate::network::Network;
    use crate::plans::lessons::Lessons;
    use crate::plans::{Aim, Plans};

    /// What is tried next of plans that leave tiny-darknet whole, after `tried` of those that are planned first. Every
    /// operator takes so many `nanoseconds` on each class.
    fn next_whole(
        board: &Board,
        nanoseconds: impl Fn(&ProcessorClass) -> u64,
        objective: Objective,
        tried: impl FnOnce(Vec<Plan>) -> Vec<Plan>,
    ) -> Option<String> {
        let network = Network::open("zoo:tiny-darknet", ReadOptions::default()).unwrap();
        let table = table(network.graph(), board, |_, class| Some(nanoseconds(class)));
        let mut plans = Plans::search(&network, board, &table, Aim::default(), &Control::new()).unwrap();
        plans.lessons.tried = tried(whole_network_plans(&plans.problem));

        let mut profile = Profile::new(board, crate::provenance());
        let model = model(&network, board, &mut profile, plans, objective);
        model.untried_whole().map(|plan| plan.configuration())
    }

    /// That of plans with this configuration.
    fn only(configuration: &str) -> impl FnOnce(Vec<Plan>) -> Vec<Plan> {
        move |plans| vec![plans.into_iter().find(|plan| plan.configuration() == configuration).unwrap()]
    }

    /// Pipelines that promise much and keep little are held to the network as a whole, whatever others promise.
    #[test]
    fn a_pipeline_is_not_chosen_before_the_whole_network_was_tried() {
        let network = Network::open("zoo:tiny-darknet", ReadOptions::default()).unwrap();
        let (board, mut plans) = plans(&network);
        let wholes = whole_network_plans(&plans.problem);
        let with = |configuration: &str| wholes.iter().find(|plan| plan.configuration() == configuration).unwrap();
        // With the same latency as one of them alone.
        let instances = with("(B1|B1)");
        assert_eq!(wholes.len(), 3, "one core, two, and an instance on each");
        let pipeline = plans.problem.clone().without_replicas();
        let pipeline = pareto_front(&pipeline).unwrap().into_iter().find(|plan| plan.stages.len() == 2).unwrap();

        for (objective, period, latency, is_tried) in [
            (Objective::Latency, 1.0, 0.95, true),
            (Objective::Latency, 1.0, 0.7, false),
            (Objective::Throughput, 0.95, 1.0, true),
            (Objective::Throughput, 0.75, 1.0, false),
            // No latency makes up for so much throughput.
            (Objective::Throughput, 1.1, 0.1, true),
        ] {
            let part = |part: f64, time: Nanoseconds| Nanoseconds::from_seconds(part * time.seconds());
            let (period, latency) = (part(period, instances.period), part(latency, instances.latency));
            let seen = Plan { period, latency, ..pipeline.clone() };
            // What another division of the stages promises.
            let mut promise = Plan { period: Nanoseconds(1), latency: Nanoseconds(1), ..pipeline.clone() };
            promise.stages.reverse();
            plans.front = Plan::undominated(vec![promise.clone(), seen.clone()]);
            plans.lessons.tried = vec![seen];

            let mut profile = Profile::new(&board, crate::provenance());
            let mut model = model(&network, &board, &mut profile, plans, objective);
            let proposed = model.untried_whole();
            assert_eq!(proposed.is_some_and(|plan| plan.is_same_pipeline(instances)), is_tried, "{objective} {period}");
            let (Proposal::Gain(next, _) | Proposal::InAnyCase(next)) = model.best().unwrap();
            let expected = if is_tried { instances } else { &promise };
            assert!(next.plan.is_same_pipeline(expected), "{objective}: {}", next.plan.configuration());
            plans = model.plans;
        }
    }

    /// On equal cores, two threads that are predicted to share all work pass as many frames as two instances. Which of them
    /// really do is seen when both were tried.
    #[test]
    fn instances_are_tried_beside_one_on_all_cores() {
        for (two_threads, is_tried) in [(400, true), (370, false)] {
            let time = |class: &ProcessorClass| if class.count == 1 { 1000 } else { two_threads };
            let tried = next_whole(&board("B2"), time, Objective::Throughput, only("B2"));
            assert_eq!(tried.as_deref(), is_tried.then_some("(B1|B1)"), "{two_threads}");
        }
    }

    /// The costs of two cores may be of a minute in which they heard of each other late.
    #[test]
    fn two_cores_with_another_engine_are_tried_for_latency_though_their_costs_are_a_third_more() {
        let board = board("B2@onnxruntime,openvino");
        for (objective, unit, openvino, is_tried) in [
            (Objective::Latency, 1, 670, true),
            (Objective::Latency, 1, 720, false),
            (Objective::Throughput, 1, 670, false),
            // Of longer frames, waiting is a smaller part.
            (Objective::Latency, 1000, 670, false),
            (Objective::Latency, 1000, 560, true),
        ] {
            let time = |class: &ProcessorClass| match (class.count, class.engine.is_default()) {
                (1, _) => 2000 * unit,
                (_, true) => 500 * unit,
                (_, false) => openvino * unit,
            };
            let tried = next_whole(&board, time, objective, only("B2"));
            assert_eq!(tried.as_deref(), is_tried.then_some("B2@openvino"), "{objective} {unit} {openvino}");
        }
    }

    /// Or a large cluster would have all of its numbers of cores tried.
    #[test]
    fn of_a_large_cluster_only_the_quickest_number_of_cores_is_given_more_hope() {
        let network = Network::open("zoo:tiny-darknet", ReadOptions::default()).unwrap();
        let board = board("B8@onnxruntime,openvino");
        let time = |class: &ProcessorClass| {
            let alone = if class.engine.is_default() { 8000 } else { 10_000 };
            Some(alone / class.count as u64)
        };
        let table = table(network.graph(), &board, |_, class| time(class));
        let mut plans = Plans::search(&network, &board, &table, Aim::default(), &Control::new()).unwrap();
        plans.lessons.tried = only("B8")(whole_network_plans(&plans.problem));

        let mut profile = Profile::new(&board, crate::provenance());
        let mut model = model(&network, &board, &mut profile, plans, Objective::Latency);
        while let Some(next) = model.untried_whole() {
            model.plans.lessons.tried.push(next);
        }
        let tried: Vec<String> = model.plans.lessons.tried.iter().map(Plan::configuration).collect();
        assert_eq!(tried, ["B8", "B8@openvino"]);
    }

    /// Instances that hold each other up do not show how soon one alone has a frame done.
    #[test]
    fn one_core_is_tried_for_latency_though_it_was_an_instance() {
        for (objective, is_tried) in [(Objective::Latency, true), (Objective::Throughput, false)] {
            let time = |class: &ProcessorClass| if class.count == 1 { 1000 } else { 1300 };
            let tried = next_whole(&board("B2"), time, objective, only("(B1|B1)"));
            assert_eq!(tried.as_deref(), is_tried.then_some("B1"), "{objective}");
        }
    }

    /// The costs of one of them may be of a slow minute.
    #[test]
    fn instances_are_tried_with_each_engine_for_throughput() {
        for (openvino, is_tried) in [(1250, true), (1350, false)] {
            let time = |class: &ProcessorClass| match (class.count, class.engine.is_default()) {
                (1, true) => 1000,
                (1, false) => openvino,
                _ => 2000,
            };
            let board = board("B2@onnxruntime,openvino");
            let tried = next_whole(&board, time, Objective::Throughput, only("(B1|B1)"));
            assert_eq!(tried.as_deref(), is_tried.then_some("(B1@openvino|B1@openvino)"), "{openvino}");
        }
    }

    /// An engine that is predicted to take a little longer may turn out to be quicker.
    #[test]
    fn the_whole_network_is_tried_with_each_engine_that_is_close() {
        for (nanoseconds, is_tried) in [(1050, true), (1450, false)] {
            let time = |class: &ProcessorClass| if class.engine.is_default() { 1000 } else { nanoseconds };
            let tried = next_whole(&board("B2@onnxruntime,openvino"), time, Objective::Latency, |wholes| {
                assert_eq!(wholes.len(), 3, "with the quicker engine: one core, two, and instances");
                wholes
            });
            assert_eq!(
                tried.as_deref().map(|tried| tried.contains("@openvino")),
                is_tried.then_some(true),
                "{tried:?}"
            );
        }
    }

    /// All predictions were too long, and a trial has shown so of one engine on the slow core: the other one there is held
    /// to what the same trial showed of the quick core.
    #[test]
    fn instances_are_tried_with_another_engine_by_what_trials_showed_of_the_rest() {
        let board = board("B1@openvino+s1:500@onnxruntime,openvino");
        for (nanoseconds, [quick, slow, period], is_tried) in [
            (2400, [0.77, 0.95, 0.845], true),
            (4000, [0.77, 0.95, 0.845], false),
            // With what was seen they take longer than predicted, and are hoped to be quicker all the same.
            (2300, [1.1, 1.0, 1.051], true),
            (3000, [1.1, 1.0, 1.051], false),
        ] {
            let time = |class: &ProcessorClass| match (class.cluster.as_str(), class.engine.is_default()) {
                ("B", _) => 1300,
                (_, true) => 1500,
                (_, false) => nanoseconds,
            };
            let tried = next_whole(&board, time, Objective::Throughput, |wholes| {
                let instances = only("(B1@openvino|s1)")(wholes).remove(0);
                let part = |part: f64, time: Nanoseconds| Nanoseconds::from_seconds(part * time.seconds());
                let predicted = instances.stages[0].times();
                let times = vec![part(quick, predicted[0]), part(slow, predicted[1])];
                vec![instances.clone().with_measured(vec![times], part(period, instances.period))]
            });
            assert_eq!(tried.as_deref(), is_tried.then_some("(B1@openvino|s1@openvino)"), "{nanoseconds}");
        }
    }

    #[test]
    fn a_replica_takes_as_long_as_it_took_on_the_whole_network_in_trials_for_throughput() {
        let network = Network::open("zoo:tiny-darknet", ReadOptions::default()).unwrap();
        let (board, mut plans) = plans(&network);
        let wholes = whole_network_plans(&plans.problem);
        let with = |configuration: &str| wholes.iter().find(|plan| plan.configuration() == configuration).unwrap();
        let (one, instances) = (with("B1"), with("(B1|B1)"));
        let pipeline = plans.problem.clone().without_replicas();
        let pipeline = pareto_front(&pipeline).unwrap().into_iter().find(|plan| plan.stages.len() == 2).unwrap();
        let seen = |times: &[u64]| {
            let times = times.iter().map(|&time| Nanoseconds(time)).collect();
            instances.clone().with_measured(vec![times], Nanoseconds(1))
        };
        for (objective, tried, time) in [
            (Objective::Throughput, vec![pipeline.clone()], one.period),
            (Objective::Throughput, vec![seen(&[3000, 4000])], Nanoseconds(3500)),
            (Objective::Throughput, vec![pipeline, seen(&[3000, 4000]), seen(&[5000, 4000])], Nanoseconds(4000)),
            (Objective::Latency, vec![seen(&[3000, 4000])], one.period),
        ] {
            plans.lessons.tried = tried;
            let mut profile = Profile::new(&board, crate::provenance());
            let model = model(&network, &board, &mut profile, plans, objective);
            let [alone, both] = [one, instances].map(|plan| model.with_seen_times(plan.clone()));
            assert_eq!((alone.period, alone.latency, both.latency), (time, time, time), "{objective}");
            assert!(both.period.0.abs_diff(time.0 / 2) <= 1, "{} of {time}", both.period);
            plans = model.plans;
        }
    }

    /// A team that was tried is held to what is predicted without teams, where that is close.
    #[test]
    fn a_team_is_not_chosen_before_its_closest_rival_was_tried() {
        let instance = crate::plans::lessons::tests::instance();
        let mut plans = crate::plans::lessons::tests::search(instance.inputs(), Lessons::default());
        let (network, board) = (&instance.network, &instance.board);
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
            let mut model = model(network, board, &mut profile, plans, Objective::Latency);

            let (Proposal::Gain(next, _) | Proposal::InAnyCase(next)) = model.best().unwrap();
            assert_eq!(next.plan.is_same_pipeline(&alone), is_tried, "{}", next.plan.configuration());
            // Once it was tried, there is nothing left to try.
            model.plans.lessons.tried.push(alone.clone());
            assert!(model.untried_without_teams().is_none());
            plans = model.plans;
        }
    }
}
