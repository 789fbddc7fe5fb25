//! What a search knows before it begins.

use millstream_cost::{BlockedEnd, Nanoseconds};
use millstream_schedule::execution::{Execution, Recipient, TaskId};

use crate::bounds::PathBounds;
use crate::bounds::load::{LEAST_NODES_FOR_LOADS, Loads, UNIT};
use crate::branch_and_bound::met_states::MetStates;
use crate::branch_and_bound::{Search, SearchLimits};
use crate::mapper::budget::Budget;
use crate::problem::MappingProblem;
use crate::problem::edge::Edge;
use crate::search::incumbent::Incumbent;

/// Steps of the budget for each processor that a state's next node may go to.
const STEPS_PER_CANDIDATE: u64 = 4;

impl<'a> Search<'a> {
    /// A search that has not begun. What its steps take is taken from the budget.
    pub(super) fn new(
        problem: &'a MappingProblem,
        incumbent: &'a mut Incumbent,
        recipients: Vec<Vec<Vec<Recipient>>>,
        limits: SearchLimits,
        budget: &'a Budget<'a>,
    ) -> Self {
        let blocks_somewhere = |end: BlockedEnd| problem.edges().iter().any(|edge| edge.blocks_anywhere(end));
        let has_blocking = [BlockedEnd::Sender, BlockedEnd::Receiver].into_iter().any(blocks_somewhere);
        let (bounds, prices, costs) = static_bounds(problem);
        let left = costs.iter().sum();

        Self {
            problem,
            bounds,
            twins: if has_blocking { problem.processors().collect() } else { problem.twins() },
            recipients,
            has_blocking,
            may_fetch: blocks_somewhere(BlockedEnd::Receiver),
            slowest_transfer: problem.nodes().map(|node| slowest_transfer(problem, node)).collect(),
            prices,
            costs,
            incumbent,
            execution: Execution::new(problem),
            placed: 0,
            is_used: vec![false; problem.processor_count()],
            waiting: problem.nodes().map(|node| problem.incoming(node).len()).collect(),
            order: vec![Vec::new(); problem.processor_count()],
            left,
            met: MetStates::new(limits.most_states),
            steps: 0,
            steps_per_visit: STEPS_PER_CANDIDATE * problem.processor_count() as u64,
            most_steps: limits.most_steps,
            budget,
        }
    }
}

/// Bounds of nodes; prices of processors, and with them the least costs of nodes.
fn static_bounds(problem: &MappingProblem) -> (PathBounds, Vec<u64>, Vec<u128>) {
    let mut bounds = PathBounds::new(problem);
    let even = vec![UNIT / problem.processor_count().max(1) as u64; problem.processor_count()];
    let cost = |node: TaskId| u128::from(even.first().copied().unwrap_or(0)) * u128::from(problem.least_time(node).0);
    let costs: Vec<u128> = problem.nodes().map(cost).collect();
    if problem.len() < LEAST_NODES_FOR_LOADS {
        return (bounds, even, costs);
    }
    let loads = Loads::new(problem);
    bounds.add_loads(problem, &loads);
    let best = loads.best().map(|(prices, costs)| (prices.to_vec(), costs.to_vec()));
    let (prices, costs) = best.unwrap_or((even, costs));
    (bounds, prices, costs)
}

fn slowest_transfer(problem: &MappingProblem, node: TaskId) -> Nanoseconds {
    problem.outgoing(node).map(Edge::slowest_transfer).max().unwrap_or_default()
}
