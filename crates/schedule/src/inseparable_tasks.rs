//! Tasks that a processor runs without waiting in between.

use millstream_graph::Graph;

use crate::execution::TaskId;
use crate::tasks::Task;

/// Tasks that a processor runs without waiting in between: those of a quantised operator with its quantisation and
/// dequantisations, or of operators that hand over a value of unknown type, with what stands between them; or a task by
/// itself.
///
/// Evaluation has each wait for its own inputs only, which may be less: a processor waits before the first of them for
/// all that they need, and others get nothing before the last is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InseparableTasks {
    /// Per task, the first of those that it belongs to.
    first: Vec<TaskId>,
}

impl InseparableTasks {
    /// Among the tasks of [`Replica::tasks`](crate::Replica::tasks).
    pub fn of(graph: &Graph, tasks: &[Task]) -> Self {
        // Of each operator, its last task so far: those of a processor are in a row.
        let mut last: Vec<Option<TaskId>> = vec![None; graph.operators().len()];
        let mut first: Vec<TaskId> = (0..tasks.len()).map(TaskId::new).collect();
        for (index, task) in tasks.iter().enumerate() {
            for producer in graph.inseparable_producers(task.operator) {
                let maker = last[producer.index()].filter(|maker| tasks[maker.index()].processor == task.processor);
                if let Some(from) = maker {
                    let start = first[from.index()];
                    first[start.index()..=index].iter_mut().for_each(|of_member| *of_member = (*of_member).min(start));
                }
            }
            last[task.operator.index()] = Some(TaskId::new(index));
        }
        Self { first }
    }

    /// The first of those that a task belongs to: where its processor waits for all that they need.
    pub fn first(&self, task: TaskId) -> TaskId {
        self.first.get(task.index()).copied().unwrap_or(task)
    }

    /// All that a task belongs to, in order.
    pub fn members(&self, task: TaskId) -> impl Iterator<Item = TaskId> + use<> {
        let first = self.first(task);
        let end = self.first.partition_point(|&of_task| of_task <= first).max(first.index() + 1);
        (first.index()..end).map(TaskId::new)
    }
}
