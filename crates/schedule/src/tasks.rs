//! A replica as the pieces of work that its processors do for a frame.

use millstream_graph::{Graph, OperatorId, ValueId};

use crate::Replica;
use crate::execution::{ProcessorId, TaskId};

/// An operator on one processor, or the part of an operator that the processor makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// The operator.
    pub operator: OperatorId,
    /// Its processor; they are numbered as the replica's assignments are.
    pub processor: ProcessorId,
    /// The share of the output channels, if several processors make them.
    pub share: Option<Share>,
    /// What it waits for.
    pub inputs: Vec<TaskInput>,
}

/// A part of an operator's output channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// Channels of the part.
    pub channels: usize,
    /// Channels of the whole.
    pub of: usize,
    /// Whether it is the operator that is divided, rather than one that follows it.
    pub is_head: bool,
}

impl Share {
    /// The part's share of a size.
    pub fn of_bytes(self, bytes: u64) -> u64 {
        bytes * self.channels as u64 / (self.of as u64).max(1)
    }
}

/// A value, or a part of one, that a task of the same replica makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskInput {
    /// The value.
    pub value: ValueId,
    /// The task that makes it.
    pub maker: TaskId,
    /// Its size, or that of the part.
    pub bytes: u64,
}

impl Replica {
    /// The tasks in the order of their [`TaskId`]s: processor by processor, in the order in which each runs them. An operator that reads what several processors
    /// made waits for every part, but one that is divided in the same way only for its own.
    pub fn tasks(&self, graph: &Graph) -> Vec<Task> {
        let mut tasks: Vec<Task> = Vec::new();
        // By operator: the split that it is part of, and the place of its tasks in `parts`. Searches ask for this very often.
        let mut splits: Vec<Option<usize>> = vec![None; graph.operators().len()];
        for (index, split) in self.splits.iter().enumerate() {
            split.operators.iter().for_each(|operator| splits[operator.index()] = Some(index));
        }
        let mut parts: Vec<Vec<TaskId>> = Vec::new();
        let mut parts_of: Vec<Option<usize>> = vec![None; graph.operators().len()];
        for (processor, assignment) in ProcessorId::all(self.assignments.len()).zip(&self.assignments) {
            for &operator in &assignment.operators {
                let share = splits[operator.index()].and_then(|index| {
                    let split = &self.splits[index];
                    let is_head = split.operators.first() == Some(&operator);
                    Some(Share { channels: *split.channels.get(processor.index())?, of: split.total(), is_head })
                });
                let own = *parts_of[operator.index()].get_or_insert_with(|| {
                    parts.push(Vec::new());
                    parts.len() - 1
                });
                parts[own].push(TaskId::new(tasks.len()));
                tasks.push(Task { operator, processor, share, inputs: Vec::new() });
            }
        }
        for index in 0..tasks.len() {
            let Task { operator, processor, .. } = tasks[index];
            let own_split = splits[operator.index()];
            let mut inputs = Vec::new();
            for &value in &graph.operator(operator).inputs {
                let Some(producer) = graph.producer(value) else { continue };
                let Some(makers) = parts_of[producer.index()] else { continue };
                let bytes = graph.value(value).bytes().unwrap_or(0);
                let split = splits[producer.index()];
                let is_aligned = split.is_some() && split == own_split;
                let is_own = |maker: &&TaskId| tasks[maker.index()].processor == processor;
                for &maker in parts[makers].iter().filter(|maker| !is_aligned || is_own(maker)) {
                    let bytes = tasks[maker.index()].share.map_or(bytes, |share| share.of_bytes(bytes));
                    inputs.push(TaskInput { value, maker, bytes });
                }
            }
            tasks[index].inputs = inputs;
        }
        tasks
    }
}
