//! Lazy evaluation of teams whose bound could improve the result.

mod of_one_board;

use millstream_cost::Nanoseconds;
use millstream_mapping::side_by_side;
use millstream_partition::BlockRange;

use crate::board::senders::Senders;
use crate::error::PipelineError;
use crate::plan::Plan;
use crate::problem::Problem;
use crate::problem::search_settings::SearchSettings;
use crate::teams::context::MOST_EVALUATIONS;
use crate::teams::effort::Effort;
use crate::teams::progress::SearchProgress;
use crate::teams::team::TeamTime;
use crate::ways::way::WayId;

/// A team is not evaluated for an improvement of less than this part of what is known.
const NOT_WORTH: f64 = 0.005;

/// Whether a known time is so short that one which may be hoped for is not worth an evaluation.
pub(crate) fn is_about_as_short(known: Nanoseconds, hoped: Nanoseconds) -> bool {
    is_about_as_little(known.0, hoped.0)
}

/// Whether a known number, of which less is better, is so small that one which may be hoped for is not worth an
/// evaluation.
pub(crate) fn is_about_as_little(known: u64, hoped: u64) -> bool {
    known as f64 <= hoped as f64 * (1.0 + NOT_WORTH)
}

/// A problem with teams, which searches have evaluated where that may change what they find.
pub(crate) trait LazyProblem: Sized + Sync {
    /// A stage of a plan.
    type Stage: Clone;

    /// How much work searches put into teams; `None` if there is nothing to evaluate, because there are no teams, or
    /// found times are not what counts.
    fn effort(&self) -> Option<Effort>;

    /// What evaluating teams has taken so far, in evaluations of single operators.
    fn spent(&self) -> u64;

    /// Whether a search should continue.
    fn should_continue(&self, progress: &SearchProgress) -> bool;

    /// The problem with what may be hoped for of teams that were not evaluated, by wide steps.
    fn with_hoped_times(&self) -> Self;

    /// The problem whose fronts need not have points that are hardly apart.
    fn with_wide_steps(&self) -> Self;

    /// The stages of a plan; `None` if the problem has not all of its teams.
    fn stages_of(&self, plan: &Plan) -> Option<Vec<Self::Stage>>;

    /// The plan of stages; `None` if one of them can't run.
    fn plan_of(&self, stages: &[Self::Stage]) -> Option<Plan>;

    /// What the stage at a place is made of.
    fn parts_of<'s>(&'s self, stages: &'s [Self::Stage], place: usize) -> StageParts<'s>;

    /// The ways of a stage's replicas, to be changed to others with as many cores.
    fn ways_mut(stage: &mut Self::Stage) -> &mut [WayId];
}

/// What a stage is made of.
pub(crate) struct StageParts<'a> {
    /// What its replicas take.
    pub(crate) problem: &'a Problem,
    pub(crate) senders: Senders,
    pub(crate) blocks: BlockRange,
    /// Those of its replicas.
    pub(crate) ways: &'a [WayId],
}

/// A stage's replica on a team whose time for the stage is not known yet.
struct UnevaluatedReplica<'a> {
    /// Its stage.
    stage: usize,
    /// Its place among the stage's replicas.
    replica: usize,
    /// Its team.
    way: WayId,
    /// What its stage is made of.
    parts: StageParts<'a>,
}

impl SearchSettings {
    /// A period that is enough shorter than another to be of interest.
    pub(crate) fn shorter(&self, period: Nanoseconds) -> Option<Nanoseconds> {
        let step = if self.has_wide_steps { (period.0 as f64 * NOT_WORTH) as u64 } else { 0 };
        period.0.checked_sub(step.max(1)).map(Nanoseconds)
    }
}

/// Searches with hoped times at the most. Usually nothing is left to evaluate after fewer.
const MOST_ROUNDS: u64 = 10;

/// How many times the effort of a search the first plan with teams may take. Teams of a large network that are evaluated
/// by halves tell nothing.
const FIRST_PLAN: u64 = 2;

/// The shortest period of some plans in nanoseconds; infinite if there are none.
fn shortest(plans: &[Plan]) -> f64 {
    plans.iter().map(|plan| plan.period.0).min().map_or(f64::INFINITY, |period| period as f64)
}

/// What came of evaluating the teams of a plan.
struct PlanEvaluation {
    /// Whether a time is known now that was not before.
    is_news: bool,
    /// The plan with its times, if nothing that is known beats it.
    plan: Option<Plan>,
}

/// What a search finds, with teams evaluated as far as that can change it.
pub(crate) fn with_evaluated_teams<P: LazyProblem>(
    problem: &P,
    search: impl Fn(&P) -> Result<Vec<Plan>, PipelineError> + Sync,
    is_beaten: impl Fn(&Plan, &[Plan]) -> bool,
) -> Result<Vec<Plan>, PipelineError> {
    if problem.effort().is_none() {
        return search(problem);
    }
    // No team is evaluated meanwhile.
    let (hopes, known) = side_by_side(|| search(&problem.with_hoped_times()), || search(&problem.with_wide_steps()));
    let known = match known {
        Err(PipelineError::Infeasible) => Vec::new(),
        plans => plans?,
    };
    evaluate_promising_teams(problem, known, Some(hopes?), &search, is_beaten, MOST_ROUNDS)?;
    search(problem)
}

/// Evaluates teams where that can change what a search finds.
///
/// The search is run with hopes in place of all times that are not known: bounds, times the ratio of times to bounds
/// that evaluated teams showed. The teams of the plans that come out are evaluated, until a plan no longer looks better
/// than everything known (`is_beaten`) or is known itself, again and again until nothing new comes out or the effort is
/// spent, of which the first plan with teams may take more. What the first search with hopes gives may be known already.
pub(crate) fn evaluate_promising_teams<P: LazyProblem>(
    problem: &P,
    mut known: Vec<Plan>,
    mut first_hopes: Option<Vec<Plan>>,
    search: impl Fn(&P) -> Result<Vec<Plan>, PipelineError>,
    is_beaten: impl Fn(&Plan, &[Plan]) -> bool,
    most_rounds: u64,
) -> Result<(), PipelineError> {
    let Some(effort) = problem.effort() else { return Ok(()) };
    let hoped = problem.with_hoped_times();
    let most_rounds = effort.steps(most_rounds).max(1);
    let most_after = |times: u64| problem.spent().saturating_add(effort.steps(MOST_EVALUATIONS).saturating_mul(times));
    let (most_spent, most_of_first) = (most_after(1), most_after(FIRST_PLAN));
    let mut has_evaluated_any = false;

    for rounds in 0..most_rounds {
        let mut is_settled = true;
        let hopes = first_hopes.take().map_or_else(|| search(&hoped), Ok)?;
        let gap = shortest(&known) / shortest(&hopes).max(1.0) - 1.0;
        if !problem.should_continue(&SearchProgress { rounds, most_rounds, gap: gap.max(0.0) }) {
            break;
        }
        for plan in hopes {
            // Something has to be known in the end.
            let most = match (known.is_empty(), has_evaluated_any) {
                (true, _) => u64::MAX,
                (false, false) => most_of_first,
                (false, true) => most_spent,
            };
            let evaluation = evaluate_teams_of(&hoped, &plan, most, |plan| is_beaten(plan, &known))?;
            is_settled &= !evaluation.is_news;
            has_evaluated_any |= evaluation.is_news;
            known.extend(evaluation.plan);
        }
        if is_settled {
            break;
        }
    }

    Ok(())
}

/// Evaluates the teams of a plan, part after part, until all is known or the plan is beaten. If another team with as
/// many cores looks better than one that has been evaluated, it takes its place. `most_spent` is the budget in
/// evaluations of single operators, counted from the start of the problem.
fn evaluate_teams_of<P: LazyProblem>(
    problem: &P,
    plan: &Plan,
    most_spent: u64,
    is_beaten: impl Fn(&Plan) -> bool,
) -> Result<PlanEvaluation, PipelineError> {
    let mut evaluation = PlanEvaluation { is_news: false, plan: None };
    let Some(mut stages) = problem.stages_of(plan) else { return Ok(evaluation) };
    loop {
        let Some(now) = problem.plan_of(&stages) else { return Ok(evaluation) };
        if is_beaten(&now) {
            return Ok(evaluation);
        }
        let Some(unevaluated) = unevaluated_replica(problem, &stages) else {
            return Ok(PlanEvaluation { plan: Some(now), ..evaluation });
        };

        let UnevaluatedReplica { stage, replica, way, parts } = unevaluated;
        let Some(team) = parts.problem.team(way).filter(|_| problem.spent() < most_spent) else {
            return Ok(evaluation);
        };
        team.evaluate_next_part(parts.blocks)?;
        evaluation.is_news = true;
        let best = parts.problem.most_promising(way, parts.senders, parts.blocks);
        if let Some(way) = stages.get_mut(stage).and_then(|stage| P::ways_mut(stage).get_mut(replica)) {
            *way = best;
        }
    }
}

/// The first replica of these stages whose team has not been evaluated there.
fn unevaluated_replica<'s, P: LazyProblem>(problem: &'s P, stages: &'s [P::Stage]) -> Option<UnevaluatedReplica<'s>> {
    (0..stages.len()).find_map(|stage| {
        let parts = problem.parts_of(stages, stage);
        let is_unevaluated = |way: &WayId| {
            let time = parts.problem.team(*way).map(|team| team.time(parts.senders, parts.blocks));
            matches!(time, Some(TeamTime::Hoped(_)))
        };
        let replica = parts.ways.iter().position(is_unevaluated)?;
        Some(UnevaluatedReplica { stage, replica, way: parts.ways[replica], parts })
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use millstream_board::ProcessorClass;
    use millstream_partition::Chain;
    use millstream_test_support::{board, table};

    use super::*;
    use crate::front::pareto_front::pareto_front;
    use crate::inputs::ProblemInputs;
    use crate::plan::PlannedStage;
    use crate::teams::space::teams_of;

    /// A search for GoogLeNet's front, in which teams pay, with so much effort.
    struct Searched {
        /// Evaluations of single operators that it took, and those that the effort is worth.
        spent: u64,
        budget: u64,
        has_teams: bool,
    }

    fn searched(effort: f64) -> Searched {
        let model = millstream_zoo::build("googlenet").unwrap();
        let (graph, board, chain) = (model.graph(), board("B2+s1:500+m1:700"), Chain::of(model.graph()));
        let slowness = |class: &ProcessorClass| match (class.cluster.as_str(), class.count) {
            ("B", 1) => 10,
            ("B", _) => 7,
            ("m", _) => 13,
            _ => 20,
        };
        let costs = table(graph, &board, |operator, class| Some(operator.work.macs / 10_000 * slowness(class) + 5_000));

        let inputs = ProblemInputs { graph, chain: &chain, board: &board, table: &costs };
        let effort = Effort::new(effort).unwrap();
        let problem = Problem::with_teams_and_effort(inputs, &teams_of(&board), effort).unwrap();
        let front = pareto_front(&problem).unwrap();
        Searched {
            spent: problem.teams[0].team.context().spent(),
            budget: effort.steps(MOST_EVALUATIONS),
            has_teams: front.iter().any(|plan| plan.stages.iter().any(PlannedStage::has_teams)),
        }
    }

    /// Evaluations of the largest part, which is not left in the middle.
    const LARGEST_PART: u64 = 6000;

    #[test]
    fn the_first_plan_may_take_twice_the_effort_and_the_others_what_is_left() {
        let all: Vec<Searched> = (0..16).map(|step| searched(2e-4 * 1.4_f64.powi(step))).collect();
        assert!(all.iter().all(|Searched { spent, budget, .. }| *spent <= 2 * budget + LARGEST_PART));
        assert!(all.iter().any(|searched| searched.has_teams && searched.spent > searched.budget + LARGEST_PART));
        assert!(all.iter().any(|searched| searched.has_teams && searched.spent < searched.budget));
    }
}
