//! The tasks of a replica as a task graph, with their times from a cost table.

use millstream_cost::{ClassId, CostTable, Nanoseconds};
use millstream_graph::Graph;

use crate::error::ScheduleError;
use crate::execution::{
    Deadlock, Dependency, DependencyId, Execution, OutputId, ProcessorId, TaskGraph, TaskId, TransferCost, run_order,
};
use crate::inseparable_tasks::InseparableTasks;
use crate::schedule::Replica;
use crate::task_time::task_time;
use crate::tasks::{Task, TaskInput};

/// The tasks of a replica as its processors run them, without times.
#[derive(Clone)]
pub(crate) struct ReplicaOrder {
    pub(crate) tasks: Vec<Task>,
    pub(crate) tracks: Vec<Vec<TaskId>>,
    /// What each task reads; found by the place among the reader's inputs.
    inputs: Vec<Vec<Dependency>>,
    /// What other tasks read of each.
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
        let order = run_order(self.tasks.len(), &self.tracks, makers)
            .map_err(|Deadlock { task, needs }| self.never_starts(graph, task, needs))?;
        if graph.has_inseparable_operators() {
            self.check_inseparable(graph)?;
        }
        Ok(order)
    }

    /// Whether inseparable tasks can run without waiting in between: all that they need is there before the first of
    /// them, and no processor has a part of an operator among them, unless all are divided together.
    fn check_inseparable(&self, graph: &Graph) -> Result<(), ScheduleError> {
        let inseparable = InseparableTasks::of(graph, &self.tasks);
        for task in TaskId::all(self.tasks.len()) {
            let share = |task: TaskId| self.tasks[task.index()].share;
            let is_other = |first: TaskId| share(task).is_some() != share(first).is_some();
            let begins = inseparable.first(task) != task && share(task).is_some_and(|share| share.is_head);
            if is_other(inseparable.first(task)) || begins {
                let operator = graph.operator(self.tasks[task.index()].operator).name.clone();
                return Err(ScheduleError::Interrupted { operator, stage: None });
            }
        }

        let makers = |task: TaskId| {
            let first = inseparable.first(task);
            let members = inseparable.members(task).filter(move |_| task == first);
            let makers = members.flat_map(|member| &self.inputs[member.index()]).map(|input| input.maker);
            makers.filter(|&maker| inseparable.first(maker) != first).collect::<Vec<_>>().into_iter()
        };
        run_order(self.tasks.len(), &self.tracks, makers).map(|_| ()).map_err(|Deadlock { task, needs }| {
            let reads = |member: &TaskId| self.inputs[member.index()].iter().any(|input| input.maker == needs);
            self.never_starts(graph, inseparable.members(task).find(reads).unwrap_or(task), needs)
        })
    }

    /// The error of a task that waits for one that runs after it.
    fn never_starts(&self, graph: &Graph, task: TaskId, needs: TaskId) -> ScheduleError {
        let name = |task: TaskId| graph.operator(self.tasks[task.index()].operator).name.clone();
        ScheduleError::Order { operator: name(task), stage: None, needs: name(needs) }
    }
}

/// The tasks of a replica with their times on its processors. The id of a dependency is its place among those of its
/// reader.
#[derive(Clone)]
pub struct ReplicaTasks<'a> {
    order: ReplicaOrder,
    table: &'a CostTable,
    /// The processors' places in the table.
    classes: Vec<Option<ClassId>>,
    /// What each task takes.
    times: Vec<Nanoseconds>,
    /// The processor of each task.
    homes: Vec<ProcessorId>,
}

impl<'a> ReplicaTasks<'a> {
    /// The tasks of [`Replica::tasks`] on the processors of the replica's assignments.
    ///
    /// # Errors
    /// [`ScheduleError::Unsupported`] if the table lacks a needed time.
    pub fn new(replica: &Replica, graph: &Graph, table: &'a CostTable) -> Result<Self, ScheduleError> {
        let order = ReplicaOrder::new(replica, graph);
        let classes: Vec<Option<ClassId>> =
            replica.assignments.iter().map(|assignment| table.find(&assignment.processor.class())).collect();
        let homes = order.tasks.iter().map(|task| task.processor).collect();
        let times = Vec::with_capacity(order.tasks.len());
        let mut tasks = Self { order, table, classes, times, homes };
        for task in &tasks.order.tasks {
            tasks.times.push(tasks.time_of(task, replica, graph)?);
        }
        Ok(tasks)
    }

    fn time_of(&self, task: &Task, replica: &Replica, graph: &Graph) -> Result<Nanoseconds, ScheduleError> {
        let processor = self.classes[task.processor.index()];
        let time = processor.and_then(|processor| task_time(task, processor, self.table));
        time.ok_or_else(|| ScheduleError::Unsupported {
            operator: graph.operator(task.operator).name.clone(),
            class: replica.assignments[task.processor.index()].processor.class(),
        })
    }

    /// Brings the tasks up to date after the shares of one split have changed and nothing else, with less work than
    /// [`ReplicaTasks::new`]: a search tries many shares. `split` is the place of the split among the replica's. The
    /// processors that take no part in it must be those that took none before.
    ///
    /// # Errors
    /// As [`ReplicaTasks::new`]; then some of the tasks are still what they were.
    pub fn reshare(&mut self, replica: &Replica, split: usize, graph: &Graph) -> Result<(), ScheduleError> {
        if replica.splits.iter().any(|split| split.along.makes_tiles()) {
            // Readers of rows need other ones of them.
            *self = Self::new(replica, graph, self.table)?;
            return Ok(());
        }

        let Some(split) = replica.splits.get(split) else { return Ok(()) };
        let total = split.total();
        for index in 0..self.order.tasks.len() {
            let Task { operator, processor, share, .. } = &mut self.order.tasks[index];
            if let Some(share) = share.as_mut().filter(|_| split.operators.contains(operator)) {
                (share.part, share.of) = (split.shares[processor.index()], total);
                self.times[index] = self.time_of(&self.order.tasks[index], replica, graph)?;
            }
        }

        for index in 0..self.order.tasks.len() {
            for input in 0..self.order.tasks[index].inputs.len() {
                let TaskInput { value, maker, .. } = self.order.tasks[index].inputs[input];
                let Task { operator, share, .. } = &self.order.tasks[maker.index()];
                if let Some(share) = share.filter(|_| split.operators.contains(operator)) {
                    let bytes = graph.value(value).bytes().unwrap_or(0);
                    self.order.tasks[index].inputs[input].bytes = share.of_bytes(bytes);
                }
            }
        }
        Ok(())
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
        let order = self.run_order(graph)?;
        let mut execution = Execution::new(self);
        self.execute_again(&order, &mut execution);
        Ok(execution)
    }

    /// An order in which all tasks can run.
    ///
    /// # Errors
    /// [`ScheduleError::Order`] if an operator waits for one that runs after it.
    pub fn run_order(&self, graph: &Graph) -> Result<Vec<TaskId>, ScheduleError> {
        self.order.run_order(graph)
    }

    /// Runs all tasks in an order in which they can run, in place of what ran before.
    pub fn execute_again(&self, order: &[TaskId], execution: &mut Execution) {
        execution.reset();
        for &task in order {
            execution.run(self, task, &self.homes);
        }
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
