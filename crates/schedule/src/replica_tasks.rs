use millstream_cost::{CostTable, Nanoseconds, ProcessorIndex};
use millstream_graph::Graph;

use crate::evaluate::task_time;
use crate::execution::{Dependency, Execution, TaskGraph, TransferCost, run_order};
use crate::{Replica, ScheduleError, Task};

/// The tasks of a replica as its processors run them, without times.
pub(crate) struct ReplicaOrder {
    pub(crate) tasks: Vec<Task>,
    pub(crate) tracks: Vec<Vec<usize>>,
    /// What each task reads; `index` is the place among the reader's inputs.
    inputs: Vec<Vec<Dependency>>,
    readers: Vec<Vec<Dependency>>,
}

impl ReplicaOrder {
    pub(crate) fn new(replica: &Replica, graph: &Graph) -> Self {
        let tasks = replica.tasks(graph);
        let mut tracks = vec![Vec::new(); replica.assignments.len()];
        let mut inputs = vec![Vec::new(); tasks.len()];
        let mut readers = vec![Vec::new(); tasks.len()];
        for (reader, task) in tasks.iter().enumerate() {
            tracks[task.processor].push(reader);
            for (index, input) in task.inputs.iter().enumerate() {
                let made = &graph.operator(tasks[input.maker].operator).outputs;
                let value = made.iter().position(|value| *value == input.value).unwrap_or_default();
                let dependency = Dependency { maker: input.maker, reader, value, index };
                inputs[reader].push(dependency);
                readers[input.maker].push(dependency);
            }
        }
        Self { tasks, tracks, inputs, readers }
    }

    /// An order in which all tasks can run.
    pub(crate) fn run_order(&self, graph: &Graph) -> Result<Vec<usize>, ScheduleError> {
        run_order(self.tasks.len(), &self.tracks, |task| self.inputs[task].iter().map(|input| input.maker)).map_err(
            |deadlock| {
                let name = |task: usize| graph.operator(self.tasks[task].operator).name.clone();
                ScheduleError::Order { operator: name(deadlock.task), stage: None, needs: name(deadlock.needs) }
            },
        )
    }
}

/// The tasks of a replica with their times on its processors.
pub struct ReplicaTasks<'a> {
    order: ReplicaOrder,
    table: &'a CostTable,
    /// The processors' places in the table.
    classes: Vec<Option<ProcessorIndex>>,
    times: Vec<Nanoseconds>,
}

impl<'a> ReplicaTasks<'a> {
    /// The tasks of [`Replica::tasks`] on the processors of the replica's assignments.
    ///
    /// # Errors
    /// [`ScheduleError::Unsupported`] if the table lacks a needed time.
    pub fn new(replica: &Replica, graph: &Graph, table: &'a CostTable) -> Result<Self, ScheduleError> {
        let order = ReplicaOrder::new(replica, graph);
        let classes: Vec<Option<ProcessorIndex>> =
            replica.assignments.iter().map(|assignment| table.find(&assignment.processor.class())).collect();
        let time = |task: &Task| {
            let time = classes[task.processor].and_then(|processor| task_time(task, processor, table));
            time.ok_or_else(|| ScheduleError::Unsupported {
                operator: graph.operator(task.operator).name.clone(),
                class: replica.assignments[task.processor].processor.class(),
            })
        };
        let times = order.tasks.iter().map(time).collect::<Result<_, _>>()?;
        Ok(Self { order, table, classes, times })
    }

    /// The tasks, processor by processor.
    pub fn tasks(&self) -> &[Task] {
        &self.order.tasks
    }

    /// Places of the tasks of each processor, in the order in which it runs them.
    pub fn tracks(&self) -> &[Vec<usize>] {
        &self.order.tracks
    }

    /// Runs all tasks.
    ///
    /// # Errors
    /// [`ScheduleError::Order`] if an operator waits for one that runs after it.
    pub fn execute(&self, graph: &Graph) -> Result<Execution, ScheduleError> {
        let home: Vec<usize> = self.order.tasks.iter().map(|task| task.processor).collect();
        let mut execution = Execution::new(self);
        for task in self.order.run_order(graph)? {
            execution.run(self, task, &home);
        }
        Ok(execution)
    }
}

impl TaskGraph for ReplicaTasks<'_> {
    fn tasks(&self) -> usize {
        self.order.tasks.len()
    }

    fn processors(&self) -> usize {
        self.classes.len()
    }

    fn time(&self, task: usize, processor: usize) -> Option<Nanoseconds> {
        (self.order.tasks[task].processor == processor).then(|| self.times[task])
    }

    fn inputs(&self, task: usize) -> impl Iterator<Item = Dependency> {
        self.order.inputs[task].iter().copied()
    }

    fn readers(&self, task: usize) -> impl Iterator<Item = Dependency> {
        self.order.readers[task].iter().copied()
    }

    fn transfer(&self, dependency: Dependency, from: usize, to: usize) -> TransferCost {
        let bytes = self.order.tasks[dependency.reader].inputs[dependency.index].bytes;
        match (self.classes[from], self.classes[to]) {
            (Some(from), Some(to)) => {
                TransferCost { time: self.table.transfer(from, to, bytes), blocks: self.table.blocks(from, to) }
            }
            _ => TransferCost::default(),
        }
    }
}
