use millstream_cost::{CostTable, Nanoseconds, ProcessorIndex};
use millstream_graph::Graph;

use crate::evaluate::task_time;
use crate::execution::{
    Dependency, DependencyId, Execution, OutputId, ProcessorId, TaskGraph, TaskId, TransferCost, run_order,
};
use crate::{Replica, ScheduleError, Task};

/// The tasks of a replica as its processors run them, without times.
pub(crate) struct ReplicaOrder {
    pub(crate) tasks: Vec<Task>,
    pub(crate) tracks: Vec<Vec<TaskId>>,
    /// What each task reads; found by the place among the reader's inputs.
    inputs: Vec<Vec<Dependency>>,
    readers: Vec<Vec<Dependency>>,
}

impl ReplicaOrder {
    pub(crate) fn new(replica: &Replica, graph: &Graph) -> Self {
        let tasks = replica.tasks(graph);
        let mut tracks = vec![Vec::new(); replica.assignments.len()];
        let mut inputs = vec![Vec::new(); tasks.len()];
        let mut readers = vec![Vec::new(); tasks.len()];
        for (reader, task) in TaskId::all(tasks.len()).zip(&tasks) {
            tracks[task.processor.index()].push(reader);
            for (index, input) in task.inputs.iter().enumerate() {
                let made = &graph.operator(tasks[input.maker.index()].operator).outputs;
                let value = made.iter().position(|value| *value == input.value).unwrap_or_default();
                let (value, id) = (OutputId::new(value), DependencyId::new(index));
                let dependency = Dependency { maker: input.maker, reader, value, id };
                inputs[reader.index()].push(dependency);
                readers[input.maker.index()].push(dependency);
            }
        }
        Self { tasks, tracks, inputs, readers }
    }

    /// An order in which all tasks can run.
    pub(crate) fn run_order(&self, graph: &Graph) -> Result<Vec<TaskId>, ScheduleError> {
        let makers = |task: TaskId| self.inputs[task.index()].iter().map(|input| input.maker);
        run_order(self.tasks.len(), &self.tracks, makers).map_err(|deadlock| {
            let name = |task: TaskId| graph.operator(self.tasks[task.index()].operator).name.clone();
            ScheduleError::Order { operator: name(deadlock.task), stage: None, needs: name(deadlock.needs) }
        })
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
            let time = classes[task.processor.index()].and_then(|processor| task_time(task, processor, table));
            time.ok_or_else(|| ScheduleError::Unsupported {
                operator: graph.operator(task.operator).name.clone(),
                class: replica.assignments[task.processor.index()].processor.class(),
            })
        };
        let times = order.tasks.iter().map(time).collect::<Result<_, _>>()?;
        Ok(Self { order, table, classes, times })
    }

    /// The tasks, processor by processor.
    pub fn tasks(&self) -> &[Task] {
        &self.order.tasks
    }

    /// The tasks of each processor, in the order in which it runs them.
    pub fn tracks(&self) -> &[Vec<TaskId>] {
        &self.order.tracks
    }

    /// Runs all tasks.
    ///
    /// # Errors
    /// [`ScheduleError::Order`] if an operator waits for one that runs after it.
    pub fn execute(&self, graph: &Graph) -> Result<Execution, ScheduleError> {
        let home: Vec<ProcessorId> = self.order.tasks.iter().map(|task| task.processor).collect();
        let mut execution = Execution::new(self);
        for task in self.order.run_order(graph)? {
            execution.run(self, task, &home);
        }
        Ok(execution)
    }
}

impl TaskGraph for ReplicaTasks<'_> {
    fn task_count(&self) -> usize {
        self.order.tasks.len()
    }

    fn processor_count(&self) -> usize {
        self.classes.len()
    }

    fn time(&self, task: TaskId, processor: ProcessorId) -> Option<Nanoseconds> {
        (self.order.tasks[task.index()].processor == processor).then(|| self.times[task.index()])
    }

    fn inputs(&self, task: TaskId) -> impl Iterator<Item = Dependency> {
        self.order.inputs[task.index()].iter().copied()
    }

    fn readers(&self, task: TaskId) -> impl Iterator<Item = Dependency> {
        self.order.readers[task.index()].iter().copied()
    }

    fn transfer(&self, dependency: Dependency, from: ProcessorId, to: ProcessorId) -> TransferCost {
        let bytes = self.order.tasks[dependency.reader.index()].inputs[dependency.id.index()].bytes;
        match (self.classes[from.index()], self.classes[to.index()]) {
            (Some(from), Some(to)) => {
                TransferCost { time: self.table.transfer(from, to, bytes), blocks: self.table.blocks(from, to) }
            }
            _ => TransferCost::default(),
        }
    }
}
