//! Which processors may take the values of each node.

use millstream_schedule::execution::{Recipient, TaskId, recipients};

use crate::problem::MappingProblem;

/// Values that a node could send, times processors that they could go to: every set of them is a branch.
pub(super) const MOST_RECIPIENTS: usize = 12;

/// Per node and processor, where the node's values could be sent from there; `None` if the problem is too large for the
/// search.
pub(super) fn recipients_of_all(problem: &MappingProblem) -> Option<Vec<Vec<Vec<Recipient>>>> {
    // Values and processors are named by bytes where states are remembered.
    let is_small = |number: usize| number <= usize::from(u8::MAX);
    let has_few_values =
        problem.edges().iter().all(|edge| is_small((edge.value().index() + 1) * problem.processor_count()));
    if problem.len() > MOST_NODES || !has_few_values || !is_small(problem.processor_count()) {
        return None;
    }
    let possible = |node: TaskId| -> Vec<Vec<Recipient>> {
        let candidates = |reader: TaskId| problem.supporting(reader);
        problem.processors().map(|from| recipients(problem, node, from, candidates)).collect()
    };
    let recipients: Vec<Vec<Vec<Recipient>>> = problem.nodes().map(possible).collect();
    recipients.iter().flatten().all(|recipients| recipients.len() <= MOST_RECIPIENTS).then_some(recipients)
}

/// Sets of nodes are bits of a word.
pub(crate) const MOST_NODES: usize = 128;
