//! The pipeline with the shortest period that fits into the memory.

use crate::error::PipelineError;
use crate::front::pareto_front::pareto_front;
use crate::lazy_evaluation::{is_about_as_short, with_evaluated_teams};
use crate::period::period_search::shortest_period;
use crate::plan::Plan;
use crate::problem::Problem;

/// The pipeline with the highest throughput.
///
/// For a given period, the first blocks are gone through in their order: which numbers of cores do they get by with if
/// no stage takes longer? That only needs stages on so few cores that no fewer would do. The shortest period for which
/// all blocks get by is then found by bisection. Where links make a difference, prefixes are told apart by the
/// senders to the next stage. Teams are added to what single processors reach; they are evaluated as far as that
/// may shorten the period by more than half a percent, within the problem's effort. Without teams the result is exact.
///
/// That counts links as if each stage had its own. If several stages of the result take frames over the same link, and
/// it is what holds them up, the best of [`pareto_front`] with all that its links carry takes its place, and there may
/// be better ones: it is exact if [`PeriodBound`](crate::PeriodBound) is as long and no replicas of unlike times wait
/// for each other before a link, which is not counted.
///
/// If it does not fit into the board's memory, the best that does of [`pareto_front`] takes its place: there may be
/// better ones with replicas.
///
/// # Errors
/// [`PipelineError::Infeasible`] if no division into stages can run every operator, [`PipelineError::Memory`] if
/// nothing fits into the memory.
pub fn best_period(problem: &Problem) -> Result<Plan, PipelineError> {
    let is_beaten =
        |hoped: &Plan, known: &[Plan]| known.iter().any(|plan| is_about_as_short(plan.period, hoped.period));
    let plans = with_evaluated_teams(problem, |problem| Ok(vec![shortest_period(problem)?]), is_beaten)?;
    let best = plans.into_iter().next().ok_or(PipelineError::Infeasible)?;
    let by_stages = best.period;
    let best = problem.with_link_periods(vec![best]).pop().ok_or(PipelineError::Infeasible)?;
    let is_held_up = best.period > by_stages;
    if !is_held_up && problem.has_room_for(&best) {
        return Ok(best);
    }
    let fitting = pareto_front(problem)?;
    fitting.into_iter().min_by_key(|plan| plan.period).ok_or(PipelineError::Infeasible)
}
