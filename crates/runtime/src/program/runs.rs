//! Where a processor's tasks are cut into steps.

use std::collections::HashSet;
use std::ops::Range;

use millstream_graph::Graph;
use millstream_schedule::execution::TaskId;
use millstream_schedule::{InseparableTasks, Replica, Task};

/// Per processor, the ranges of tasks that run without waiting in between. A range ends where the processor has to wait
/// for a value from another one that it has not waited for yet, after each task that others wait for, and around
/// operators that it shares.
pub(super) fn runs(replica: &Replica, graph: &Graph, tasks: &[Task]) -> Vec<Vec<Range<usize>>> {
    let is_awaited = are_awaited(tasks);
    let inseparable = InseparableTasks::of(graph, tasks);
    let members = |index: usize| inseparable.members(TaskId::new(index)).map(TaskId::index);
    let split = |index: usize| replica.splits.iter().position(|split| split.operators.contains(&tasks[index].operator));

    let mut runs: Vec<Vec<Range<usize>>> = vec![Vec::new(); replica.assignments.len()];
    // The tasks of others that the processor has waited for so far.
    let mut waited_for: HashSet<usize> = HashSet::new();
    for index in 0..tasks.len() {
        let task = &tasks[index];
        let previous = index.checked_sub(1).filter(|&previous| tasks[previous].processor == task.processor);
        if previous.is_none() {
            waited_for.clear();
        }

        // What can't be apart from an earlier task was waited for before that one.
        let is_bound = inseparable.first(TaskId::new(index)).index() < index;
        let remote: Vec<usize> = members(index)
            .filter(|_| !is_bound)
            .flat_map(|member| &tasks[member].inputs)
            .map(|input| input.maker.index())
            .filter(|&maker| tasks[maker].processor != task.processor && !waited_for.contains(&maker))
            .collect();

        let goes_on = previous.is_some_and(|previous| match (split(previous), split(index)) {
            (None, None) => is_bound || remote.is_empty() && !members(previous).any(|member| is_awaited[member]),
            (before, now) => before == now,
        });

        waited_for.extend(remote);
        let processor_runs = &mut runs[task.processor.index()];
        match processor_runs.last_mut() {
            Some(last) if goes_on => last.end = index + 1,
            _ => processor_runs.push(index..index + 1),
        }
    }
    runs
}

/// Of each task, whether another processor waits for it.
fn are_awaited(tasks: &[Task]) -> Vec<bool> {
    let mut is_awaited = vec![false; tasks.len()];
    for task in tasks {
        for input in task.inputs.iter().filter(|input| tasks[input.maker.index()].processor != task.processor) {
            is_awaited[input.maker.index()] = true;
        }
    }
    is_awaited
}
