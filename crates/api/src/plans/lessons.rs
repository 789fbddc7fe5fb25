//! Corrections that searches apply after trials of plans.

use std::collections::BTreeMap;

use millstream_board::ProcessorClass;
use millstream_cost::{CostTable, Nanoseconds};
use millstream_graph::Graph;
use millstream_pipeline::Plan;
use millstream_schedule::{Schedule, StageId};

/// How far one trial's time is from another's of the same stage: relative standard deviation.
const TRIAL_NOISE: f64 = 0.03;
/// How far predictions of a team's stages are off as a whole, hand-overs left aside: relative standard deviation.
const PREDICTION_NOISE: f64 = 0.05;
/// Hand-overs are never thought to take longer than this beyond their prediction.
const MOST_LATE: Nanoseconds = Nanoseconds(1_000_000);
/// Steps in which the lateness of hand-overs is narrowed down: each leaves 0.62 of the range.
const STEPS: usize = 16;
/// What was tried with the same stages must be beaten by so much for another division of a team's work to be worth a
/// trial.
const MORE_THAN_NOISE: f64 = 0.98;

/// What trials have shown.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lessons {
    /// Plans that were tried, with the numbers that they were seen to have.
    pub(crate) tried: Vec<Plan>,
    teams: Vec<TeamTrial>,
}

/// What a trial showed of a team's stage.
#[derive(Debug, Clone)]
struct TeamTrial {
    team: Vec<ProcessorClass>,
    schedule: Schedule,
    stage: StageId,
    replica: usize,
    measured: Nanoseconds,
}

/// How teams differ from what is predicted of them.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct TeamLessons {
    /// How much longer each hand-over between two processors of a team takes.
    pub(crate) late_by: Nanoseconds,
    /// How many times longer stages of a team take, beyond that.
    pub(crate) factors: Vec<(Vec<ProcessorClass>, f64)>,
}

/// A way to explain what trials showed of teams.
struct Explanation {
    /// How unlikely the trials are by it: a sum of squared deviations, each by its variance.
    unlikely: f64,
    lessons: TeamLessons,
}

impl Lessons {
    /// Takes in what a trial showed of a plan and its schedule. What an earlier one showed of the same no longer counts:
    /// it was of another minute than the last trials of others.
    pub(crate) fn add(&mut self, schedule: &Schedule, measured: Plan) {
        for (stage, times) in StageId::all(measured.stages.len()).zip(&measured.stages) {
            for (replica, replica_times) in times.replicas.iter().enumerate().filter(|(_, times)| times.is_team()) {
                let (team, schedule) = (replica_times.processors.clone(), schedule.clone());
                let is_other =
                    |trial: &TeamTrial| (trial.stage, trial.replica, &trial.schedule) != (stage, replica, &schedule);
                self.teams.retain(is_other);
                self.teams.push(TeamTrial { team, schedule, stage, replica, measured: replica_times.time });
            }
        }
        match self.tried.iter_mut().find(|tried| tried.is_same_pipeline(&measured)) {
            Some(tried) => *tried = measured,
            None => self.tried.push(measured),
        }
    }

    /// Whether there is something to see in trying a plan out: it was not tried, and if its stages were, with a team's
    /// work divided in another way, it promises more than trials differ by.
    pub(crate) fn leave_open(&self, plan: &Plan) -> bool {
        let is_clearly_below =
            |time: Nanoseconds, other: Nanoseconds| time.seconds() < MORE_THAN_NOISE * other.seconds();
        let mut alike = self.tried.iter().filter(|tried| tried.has_same_stages(plan));
        alike.all(|tried| {
            let is_better =
                is_clearly_below(plan.period, tried.period) || is_clearly_below(plan.latency, tried.latency);
            is_better && !tried.is_same_pipeline(plan)
        })
    }

    /// What trials say of teams beyond a table: that hand-overs within teams take longer, as far as that explains it,
    /// and the rest of each team.
    ///
    /// Of all teams together, the lateness is the one under which both what is left of each trial and each team's own
    /// factor are the likeliest: least squares of the logarithms, with the deviations [`TRIAL_NOISE`] and
    /// [`PREDICTION_NOISE`].
    pub(crate) fn of_teams(&self, graph: &Graph, table: &CostTable) -> TeamLessons {
        if self.teams.is_empty() {
            return TeamLessons::default();
        }
        // Golden section: the larger of two inner points moves on to be the end of a range or its inner point.
        let golden = (5_f64.sqrt() - 1.0) / 2.0;
        let (mut low, mut high) = (0.0, MOST_LATE.seconds());
        let at = |seconds: f64| self.explained_by(Nanoseconds::from_seconds(seconds), graph, table);
        let mut best = at(0.0);
        for _ in 0..STEPS {
            let [left, right] = [high - golden * (high - low), low + golden * (high - low)];
            let [at_left, at_right] = [at(left), at(right)];
            if at_left.unlikely <= at_right.unlikely {
                high = right;
            } else {
                low = left;
            }
            for found in [at_left, at_right] {
                if found.unlikely < best.unlikely {
                    best = found;
                }
            }
        }
        best.lessons
    }

    /// What the trials amount to if each hand-over takes that much longer.
    fn explained_by(&self, late_by: Nanoseconds, graph: &Graph, table: &CostTable) -> Explanation {
        let table = table.clone().with_longer_transfers(late_by);
        let mut of_team: BTreeMap<&[ProcessorClass], Vec<f64>> = BTreeMap::new();
        for trial in &self.teams {
            let evaluation = trial.schedule.evaluate(graph, &table).ok();
            let stage = evaluation.as_ref().and_then(|evaluation| evaluation.stages.get(trial.stage.index()));
            let Some(time) = stage.and_then(|stage| stage.replica_times.get(trial.replica)) else { continue };
            let residual = (trial.measured.seconds().max(1e-9) / time.seconds().max(1e-9)).ln();
            of_team.entry(&trial.team).or_default().push(residual);
        }
        let (of_trial, of_prediction) = (TRIAL_NOISE.powi(-2), PREDICTION_NOISE.powi(-2));
        let mut unlikely = 0.0;
        let mut factors = Vec::new();
        for (team, residuals) in of_team {
            let of_trials = of_trial * residuals.len() as f64;
            let factor = of_trial * residuals.iter().sum::<f64>() / (of_trials + of_prediction);
            unlikely += of_prediction * factor.powi(2);
            unlikely += residuals.iter().map(|residual| of_trial * (residual - factor).powi(2)).sum::<f64>();
            factors.push((team.to_vec(), factor.exp()));
        }
        Explanation { unlikely, lessons: TeamLessons { late_by, factors } }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use millstream_board::Board;
    use millstream_cost::{PartCost, RowCost, TransferModel};
    use millstream_graph::Along;
    use millstream_onnx::ReadOptions;
    use millstream_pipeline::pareto_front;
    use millstream_test_support::{board, connect, table};

    use super::*;
    use crate::control::Control;
    use crate::network::Network;
    use crate::plans::search::SearchInputs;
    use crate::plans::{Aim, Plans};

    #[test]
    fn a_plan_has_the_times_of_its_last_trial() {
        let instance = instance();
        let plans = search(instance.inputs(), Lessons::default());
        let two = pareto_front(&plans.problem.clone().without_teams().without_replicas()).unwrap();
        let two = two.into_iter().find(|plan| plan.stages.len() == 2).unwrap();
        let schedule = plans.schedule(&two);
        let mut lessons = Lessons::default();
        for trial in [[10, 20, 20], [20, 30, 30], [12, 24, 24]] {
            let [first, second, period] = trial.map(Nanoseconds);
            lessons.add(&schedule, two.clone().with_measured(vec![vec![first], vec![second]], period));
            let [known] = lessons.tried.as_slice() else { unreachable!("it is one plan") };
            let times: Vec<Vec<Nanoseconds>> = known.stages.iter().map(|stage| stage.times()).collect();
            assert_eq!((times, known.period), (vec![vec![first], vec![second]], period));
            assert_eq!(known.latency, first + second);
        }
    }

    /// What plans are searched for.
    pub(crate) struct Instance {
        pub(crate) network: Network,
        pub(crate) board: Board,
        pub(crate) table: CostTable,
    }

    impl Instance {
        pub(crate) fn inputs(&self) -> SearchInputs<'_> {
            SearchInputs { network: &self.network, board: &self.board, table: &self.table }
        }
    }

    /// A fast core and one that is three times slower.
    pub(crate) fn instance() -> Instance {
        instance_on(board("B1+s1:341"))
    }

    /// A board on which cores that are not of B are three times slower. All may divide operators by channels at hardly
    /// any cost, and by rows.
    pub(crate) fn instance_on(board: Board) -> Instance {
        let network = Network::open("zoo:squeezenet", ReadOptions::default()).unwrap();
        let graph = network.graph();
        let mut table = table(graph, &board, |operator, class| {
            let slowness = if class.cluster == "B" { 1 } else { 3 };
            Some(slowness * (20_000 + operator.work.macs / 20))
        });
        connect(&mut table, TransferModel { latency_seconds: 5e-6, ..TransferModel::default() });

        let few = Nanoseconds(2_000);
        let rows = RowCost { fixed_fraction: 0.1, start: few, read: few, write: few };
        for processor in table.class_ids() {
            for id in graph.operator_ids() {
                table.set_part(processor, id, PartCost::default());
                table.set_rows(processor, id, rows);
            }
        }
        Instance { network, board, table }
    }

    pub(crate) fn search(inputs: SearchInputs<'_>, lessons: Lessons) -> Plans {
        Plans::search_again(inputs, Aim::default(), lessons, &Control::new()).unwrap()
    }

    /// The plan of the least latency, with the latency that it has by another table.
    fn tried(plans: &Plans, network: &Network, truth: &CostTable) -> (Schedule, Plan) {
        let plan = plans.front.first().unwrap();
        let schedule = plans.schedule(plan);
        let evaluation = schedule.evaluate(network.graph(), truth).unwrap();
        let times = evaluation.stages.iter().map(|stage| stage.replica_times.clone()).collect();
        (schedule, plan.clone().with_measured(times, evaluation.period))
    }

    #[test]
    fn hand_overs_that_turn_out_late_are_avoided_and_bounds_stay() {
        let instance = instance();
        let Instance { network, table, .. } = &instance;
        let late_by = Nanoseconds::from_seconds(200e-6);
        let truth = table.clone().with_longer_transfers(late_by);
        let mut plans = search(instance.inputs(), Lessons::default());
        let bound = plans.searched.bound;
        let (schedule, first) = tried(&plans, network, &truth);
        assert!(first.stages[0].has_teams() && first.latency > plans.front[0].latency);

        let mut lessons = Lessons::default();
        lessons.add(&schedule, first.clone());
        let found = lessons.of_teams(network.graph(), table);
        let error = found.late_by.seconds() / late_by.seconds() - 1.0;
        assert!(error.abs() < 0.02 && (found.factors[0].1 - 1.0).abs() < 0.01, "{found:?}");
        for _ in 0..5 {
            plans = search(instance.inputs(), std::mem::take(&mut lessons));
            assert_eq!(plans.searched.bound, bound);
            lessons = std::mem::take(&mut plans.lessons);
            if lessons.tried.iter().any(|tried| tried.is_same_pipeline(&plans.front[0])) {
                break;
            }
            let (schedule, seen) = tried(&plans, network, &truth);
            lessons.add(&schedule, seen);
        }
        let best = lessons.tried.iter().min_by_key(|plan| plan.latency).unwrap();
        // What could be had with that known from the start.
        let SearchInputs { network, board, .. } = instance.inputs();
        let known = search(SearchInputs { network, board, table: &truth }, Lessons::default());
        assert!(best.latency < first.latency);
        assert!(
            best.latency.seconds() <= 1.01 * known.front[0].latency.seconds(),
            "{} {}",
            best.latency,
            known.front[0].latency
        );
        let rows = |plan: &Plan| {
            let works = plan.stages.iter().flat_map(|stage| &stage.replicas).filter_map(|replica| replica.work.clone());
            works.map(|work| work.splits().iter().filter(|split| split.along == Along::Rows).count()).sum::<usize>()
        };
        assert!(rows(best) > rows(&first), "{} {}", rows(best), rows(&first));
    }

    #[test]
    fn a_team_that_is_quick_is_no_reason_to_think_of_hand_overs() {
        let instance = instance();
        let Instance { network, table, .. } = &instance;
        let plans = search(instance.inputs(), Lessons::default());
        let (schedule, mut seen) = tried(&plans, network, table);
        let replica = &mut seen.stages[0].replicas[0];
        replica.time = Nanoseconds::from_seconds(0.8 * replica.time.seconds());
        let mut lessons = Lessons::default();
        lessons.add(&schedule, seen.clone());
        let found = lessons.of_teams(network.graph(), table);
        // One trial counts for 1 / (1 + 0.03² / 0.05²) of what it shows.
        let expected = 0.8_f64.powf(1.0 / (1.0 + 0.36));
        assert!(found.late_by < Nanoseconds(1_000) && (found.factors[0].1 - expected).abs() < 0.01, "{found:?}");
        lessons.add(&schedule, seen);
        assert_eq!(lessons.of_teams(network.graph(), table), found, "the same plan counts once");
    }

    #[test]
    fn another_division_is_open_if_it_promises_more_than_noise() {
        let instance = instance();
        let Instance { network, table, .. } = &instance;
        let plans = search(instance.inputs(), Lessons::default());
        let (schedule, seen) = tried(&plans, network, table);
        let mut lessons = Lessons::default();
        lessons.add(&schedule, seen.clone());
        let mut other = seen.clone();
        assert!(!lessons.leave_open(&other));
        other.latency = Nanoseconds(seen.latency.0 / 2);
        assert!(!lessons.leave_open(&other), "it was tried");
        other.stages[0].replicas[0].work = None;
        assert!(lessons.leave_open(&other));
        (other.latency, other.period) = (Nanoseconds(seen.latency.0 * 99 / 100), seen.period);
        assert!(!lessons.leave_open(&other));
        other.stages[0].replicas[0].processors.pop();
        assert!(lessons.leave_open(&other), "other stages");
    }
}
