//! Clocks that a schedule wants clusters to have.

use std::collections::HashSet;

use millstream_board::Board;
use millstream_cost::{Clocks, CostTable, clock_combinations};
use millstream_machine::{clock_limit, clock_limit_file};
use millstream_pipeline::{ClockedPlan, PipelineError, Plan, Problem, ProblemInputs, choose, clocked_front};
use millstream_sim::SteadyState;

use crate::error::Error;
use crate::network::Network;
use crate::plans::Aim;
use crate::plans::search::ENERGY_TOLERANCE;
use crate::plans::shared_memory::SharedMemory;

/// Operating points of a cluster that are looked at: these many, spread over all that it has.
const MOST_POINTS: usize = 6;

/// Finds the clocks with which an aim is served best, together with the front over the clocks that were looked at: up
/// to six operating points of each cluster, without teams. Energies are within 1 % of the least of such plans as
/// long as processors don't compete for memory; where they do, those that may be chosen are simulated.
///
/// # Errors
/// [`Error::Pipeline`] if no clocks allow a plan within the constraints.
pub fn choose_clocks(
    network: &Network,
    board: &Board,
    table: &CostTable,
    aim: &Aim,
) -> Result<(Clocks, Vec<ClockedPlan>), Error> {
    let combinations = clock_combinations(board, MOST_POINTS);
    let inputs = ProblemInputs { graph: network.graph(), chain: network.chain(), board, table };
    let mut front = clocked_front(inputs, &combinations, &aim.limits(), ENERGY_TOLERANCE)?;
    let best = best_with_memory(network, board, table, aim, &mut front)?;
    let chosen = front[best].clone();
    // Simulations may have shown that a plan breaks a limit, or that another is better in everything.
    let limits = aim.limits();
    front.retain(|point| limits.allow(&point.plan));
    let undominated = Plan::undominated_with_energy(front.iter().map(|point| point.plan.clone()).collect());
    front.retain(|point| *point == chosen || undominated.contains(&point.plan));
    Ok((chosen.clocks, front))
}

/// Plans that are simulated before the best of them is taken.
const MOST_SIMULATED: usize = 200;

/// The place of the plan that serves the aim best. Where processors compete for memory, plans get the numbers that
/// simulations show until one that has them is the best.
fn best_with_memory(
    network: &Network,
    board: &Board,
    table: &CostTable,
    aim: &Aim,
    front: &mut [ClockedPlan],
) -> Result<usize, Error> {
    let limits = aim.limits();
    let problem = Problem::new(network.graph(), network.chain(), board, table)?;
    let mut simulated = HashSet::new();

    loop {
        let is_open = |place: &usize| simulated.len() < MOST_SIMULATED || simulated.contains(place);
        let allowed = (0..front.len()).filter(|&place| limits.allow(&front[place].plan)).filter(is_open);
        let allowed: Vec<usize> = allowed.collect();
        let plans: Vec<&Plan> = allowed.iter().map(|&place| &front[place].plan).collect();
        let Some(&best) = choose(&plans, aim.objective).and_then(|index| allowed.get(index)) else {
            let known = (0..front.len()).filter(|place| simulated.contains(place));
            let plans: Vec<Plan> = known.map(|place| front[place].plan.clone()).collect();
            limits.among(&plans)?;
            return Err(PipelineError::Infeasible.into());
        };

        let ClockedPlan { clocks, plan } = &mut front[best];
        let table = table.at_clocks(board, clocks);
        let Some(memory) = SharedMemory::new(network, board, &table) else { return Ok(best) };
        if !simulated.insert(best) {
            return Ok(best);
        }
        *plan = memory.simulated(&problem, plan, SteadyState::FRAMES)?;
    }
}

/// Clocks for people, such as `B 1.40 GHz, s 1.80 GHz`.
pub fn clocks_text(clocks: &Clocks) -> String {
    let described = |(label, hertz): (&String, &u64)| format!("{label} {:.2} GHz", *hertz as f64 * 1e-9);
    clocks.iter().map(described).collect::<Vec<_>>().join(", ")
}

/// What to do where the machine's clocks are not as a schedule wants them; setting them needs rights that we may not
/// have.
pub(crate) fn unset_clocks(clocks: &Clocks, board: &Board) -> Vec<String> {
    let mut advice = Vec::new();
    for (label, &hertz) in clocks {
        let Ok(cluster) = board.cluster(label) else { continue };
        for core in &cluster.cores {
            let is_there = clock_limit(core.id).is_some_and(|limit| limit.abs_diff(hertz) <= hertz / 100);
            if !is_there {
                advice.push(format!(
                    "the schedule is for cores of {label} at {:.2} GHz; as root: echo {} > {}",
                    hertz as f64 * 1e-9,
                    hertz / 1000,
                    clock_limit_file(core.id).display()
                ));
            }
        }
    }
    advice
}
