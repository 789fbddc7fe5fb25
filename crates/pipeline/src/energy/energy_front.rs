//! Every trade-off between period, latency and energy.

use millstream_cost::Clocks;

use crate::energy::energy_search::EnergySearch;
use crate::error::PipelineError;
use crate::front::pareto_front::pareto_front;
use crate::inputs::ProblemInputs;
use crate::lazy_evaluation::{evaluate_promising_teams, is_about_as_little, is_about_as_short};
use crate::memory::fitting::PlansWithinMemory;
use crate::plan::Plan;
use crate::plan::constraints::Constraints;
use crate::plan::undominated::keep_undominated_with_energy;
use crate::problem::Problem;

/// Plans among which there is, for every plan that keeps to the constraints, one that is at most `tolerance` worse than
/// it, relatively, in each of period, latency and energy of a frame, from the lowest energy on. With a tolerance of 0,
/// no plan that is left out is better in one of the three without being worse in another. That is so unless the board's
/// memory is too small for some of them, and among plans on single processors and replicas of them; teams are evaluated
/// where they may be better by more than half a percent in one of the three, within the problem's effort. A limit on
/// power chooses among the plans at the end: one that draws less only because it passes fewer frames, and is beaten in
/// all three by one that draws too much, is not among them.
///
/// Links that several stages take frames over are counted as in [`pareto_front`].
///
/// Dynamic programming over (blocks done, senders of the last stage, cores used) that keeps all undominated triples. A
/// prefix is dropped as soon as the best that can come of it is no better than a whole plan that is known.
///
/// # Errors
/// [`PipelineError::UnknownPower`] if the power of some processor is not known, [`PipelineError::Infeasible`] if no
/// division into stages can run every operator, and what [`Constraints::among`] says if no plan keeps to the
/// constraints.
pub fn energy_front(problem: &Problem, constraints: &Constraints, tolerance: f64) -> Result<Vec<Plan>, PipelineError> {
    Ok(energy_front_within_memory(problem, constraints, tolerance)?.plans)
}

/// The same as [`energy_front`], and whether the memory had room for all that was found.
///
/// # Errors
/// As [`energy_front`].
pub fn energy_front_within_memory(
    problem: &Problem,
    constraints: &Constraints,
    tolerance: f64,
) -> Result<PlansWithinMemory, PipelineError> {
    check_power(problem)?;
    let search = |problem: &Problem| {
        let mut plans = pareto_front(problem)?;
        plans.extend(beyond(problem, constraints, tolerance, &plans));
        Ok(plans)
    };
    let is_beaten = |hoped: &Plan, known: &[Plan]| known.iter().any(|plan| is_about_as_good(plan, hoped));
    evaluate_promising_teams(problem, pareto_front(problem)?, None, search, is_beaten, MOST_ROUNDS)?;
    let PlansWithinMemory { plans, is_whole } = problem.fitting(search(problem)?, pareto_front)?;
    let plans = match constraints.among(&problem.with_link_periods(plans)) {
        Ok(plans) => Plan::undominated_with_energy(plans),
        // What was dropped on the way tells what could be reached.
        Err(_) => constraints.among(&energy_front(problem, &Constraints::default(), tolerance)?)?,
    };
    Ok(PlansWithinMemory { plans, is_whole })
}

/// Whether a known plan is so good that another, which may be hoped for, is not worth a look.
fn is_about_as_good(known: &Plan, hoped: &Plan) -> bool {
    let energy = |plan: &Plan| plan.energy.map_or(u64::MAX, |energy| energy.0);
    is_about_as_short(known.latency, hoped.latency)
        && is_about_as_short(known.period, hoped.period)
        && is_about_as_little(energy(known), energy(hoped))
}

/// What [`energy_front`] finds that is better than some plans in something. Of many plans some are enough to compare
/// with: the others only make the search find again what is known.
fn beyond(problem: &Problem, constraints: &Constraints, tolerance: f64, known: &[Plan]) -> Vec<Plan> {
    let step = known.len().div_ceil(MOST_KNOWN).max(1);
    let some: Vec<Plan> = known.iter().step_by(step).cloned().collect();
    EnergySearch::new(problem, constraints, tolerance, &some).run()
}

/// Searches with hoped times at the most, beyond those for period and latency: each takes long, and hardly finds a team
/// that those did not.
const MOST_ROUNDS: u64 = 1;

/// Plans that every prefix is compared with.
const MOST_KNOWN: usize = 150;

/// A plan with clusters at some operating points.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClockedPlan {
    /// Clocks of clusters that have several operating points.
    pub clocks: Clocks,
    /// The plan, with its numbers at these clocks.
    pub plan: Plan,
}

/// As [`energy_front`], over all combinations of some clocks as well. Stages of several processors that work together
/// are left out.
///
/// # Errors
/// As [`energy_front`], and as [`Problem::new`].
pub fn clocked_front(
    inputs: ProblemInputs<'_>,
    combinations: &[Clocks],
    constraints: &Constraints,
    tolerance: f64,
) -> Result<Vec<ClockedPlan>, PipelineError> {
    let ProblemInputs { graph, chain, board, table } = inputs;
    let mut plans: Vec<ClockedPlan> = Vec::new();
    for clocks in combinations {
        let problem = Problem::new(graph, chain, board, &table.at_clocks(board, clocks))?;
        check_power(&problem)?;
        let mut known: Vec<Plan> = plans.iter().map(|clocked| clocked.plan.clone()).collect();
        let fast = pareto_front(&problem)?;
        known.extend_from_slice(&fast);
        let more = problem.fitting(beyond(&problem, constraints, tolerance, &known), |_| Ok(Vec::new()));
        let more = more.map_or_else(|_| Vec::new(), |within| within.plans);
        let more = fast.into_iter().chain(problem.with_link_periods(more));
        plans.extend(more.map(|plan| ClockedPlan { clocks: clocks.clone(), plan }));
        keep_undominated_with_energy(&mut plans, |clocked| &clocked.plan);
    }
    let at_any_clocks: Vec<Plan> = plans.iter().map(|clocked| clocked.plan.clone()).collect();
    constraints.among(&at_any_clocks)?;
    plans.retain(|clocked| constraints.allow(&clocked.plan));
    Ok(plans)
}

fn check_power(problem: &Problem) -> Result<(), PipelineError> {
    let unknown = problem.processors.classes.iter().find(|class| class.power.is_none());
    unknown.map_or(Ok(()), |class| Err(PipelineError::UnknownPower { class: class.processor.clone() }))
}
