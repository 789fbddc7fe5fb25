use std::collections::HashMap;

use millstream_graph::{Graph, OperatorId};

use crate::Task;
use crate::execution::{ProcessorId, TaskId};

/// Tasks that a processor runs without waiting in between: those of a quantised operator with its quantisation and dequantisations, or
/// of operators that hand over a value of unknown type, with what stands between them; or a task by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InseparableTasks {
    /// Per task, the first of those that it belongs to.
    first: Vec<usize>,
}

impl InseparableTasks {
    /// Among the tasks of [`Replica::tasks`](crate::Replica::tasks).
    pub fn of(graph: &Graph, tasks: &[Task]) -> Self {
        let mut place: HashMap<(OperatorId, ProcessorId), usize> = HashMap::new();
        for (index, task) in tasks.iter().enumerate() {
            place.insert((task.operator, task.processor), index);
        }
        let mut first: Vec<usize> = (0..tasks.len()).collect();
        for (index, task) in tasks.iter().enumerate() {
            for producer in graph.inseparable_producers(task.operator) {
                if let Some(&from) = place.get(&(producer, task.processor)).filter(|&&from| from < index) {
                    let start = first[from];
                    first[start..=index].iter_mut().for_each(|own| *own = (*own).min(start));
                }
            }
        }
        Self { first }
    }

    /// The first of those that a task belongs to: where its processor waits for all that they need.
    pub fn first(&self, task: TaskId) -> TaskId {
        TaskId::new(self.first.get(task.index()).copied().unwrap_or(task.index()))
    }

    /// All that a task belongs to, in order.
    pub fn members(&self, task: TaskId) -> impl Iterator<Item = TaskId> + use<> {
        let first = self.first(task).index();
        let end = self.first.partition_point(|&own| own <= first).max(first + 1);
        (first..end).map(TaskId::new)
    }
}
