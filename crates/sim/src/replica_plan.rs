//! A schedule made ready for the simulation: tasks, times and transfers of every replica, looked up once.

use millstream_board::Processor;
use millstream_cost::{CostTable, Nanoseconds, bytes_of_part};
use millstream_graph::{Graph, OperatorId};
use millstream_schedule::execution::{Dependency, ProcessorId, Recipient, TaskGraph, TaskId, TransferCost, recipients};
use millstream_schedule::{
    Crossing, Entry, FrameWays, LinkUse, Replica, ReplicaTasks, Schedule, ScheduleError, Stage, StageId, Task,
};

/// What one replica does for a frame.
pub(crate) struct ReplicaPlan {
    pub(crate) processors: Vec<Processor>,
    /// How long its processors take a frame over, with what they pay for frames from and to other hosts.
    pub(crate) hand_over: Nanoseconds,
    /// What of that occupies links to the replica's clusters and accelerators.
    pub(crate) links: Vec<LinkUse>,
    /// Per processor, its tasks in order.
    pub(crate) orders: Vec<Vec<TaskId>>,
    pub(crate) tasks: Vec<TaskPlan>,
}

/// One operator, or one part of it, on its processor.
pub(crate) struct TaskPlan {
    pub(crate) operator: OperatorId,
    pub(crate) processor: ProcessorId,
    pub(crate) time: Nanoseconds,
    /// Bytes that it moves to and from memory.
    pub(crate) bytes: u64,
    /// What it reads, in the order of the dependencies' ids.
    inputs: Vec<PlannedInput>,
    /// What other tasks read of it.
    readers: Vec<Dependency>,
    /// Where its processor sends its values.
    pub(crate) recipients: Vec<Recipient>,
    /// The other processors on which its values are read.
    pub(crate) read_on: Vec<ProcessorId>,
}

/// A value that a task reads.
struct PlannedInput {
    dependency: Dependency,
    /// What moving it to the task's processor takes.
    cost: TransferCost,
}

impl TaskGraph for ReplicaPlan {
    fn task_count(&self) -> usize {
        self.tasks.len()
    }

    fn processor_count(&self) -> usize {
        self.orders.len()
    }

    fn time(&self, task: TaskId, processor: ProcessorId) -> Option<Nanoseconds> {
        let task = &self.tasks[task.index()];
        (task.processor == processor).then_some(task.time)
    }

    fn inputs(&self, task: TaskId) -> impl Iterator<Item = Dependency> {
        self.tasks[task.index()].inputs.iter().map(|input| input.dependency)
    }

    fn readers(&self, task: TaskId) -> impl Iterator<Item = Dependency> {
        self.tasks[task.index()].readers.iter().copied()
    }

    fn transfer(&self, dependency: Dependency, _from: ProcessorId, _to: ProcessorId) -> TransferCost {
        self.tasks[dependency.reader.index()].inputs[dependency.id.index()].cost
    }
}

/// What all replicas of a schedule do for a frame.
pub(crate) struct SchedulePlan {
    /// The replicas of each stage.
    pub(crate) stages: Vec<Vec<ReplicaPlan>>,
    /// The way to each stage, if the one before is on another host, or to the first from outside; and in the end that of
    /// results to outside.
    pub(crate) crossings: Vec<Option<Crossing>>,
}

/// Looks up what the replicas of a schedule do for a frame.
pub(crate) fn plan(schedule: &Schedule, graph: &Graph, table: &CostTable) -> Result<SchedulePlan, ScheduleError> {
    let mut crossings = schedule.crossings(graph, table)?;
    let costs = schedule.host_costs(graph, table, &crossings)?;
    let FrameWays { entry, exit } = schedule.frame_ways(graph, table)?;
    if let Some(first) = crossings.first_mut() {
        *first = entry;
    }
    crossings.push(exit);

    let of_stage = |(id, stage): (StageId, &Stage)| {
        let entry = schedule.entry(id);
        let plan = |replica| -> Result<ReplicaPlan, ScheduleError> {
            let plan = replica_plan(replica, &entry, graph, table)?;
            Ok(ReplicaPlan { hand_over: plan.hand_over + costs[id.index()], ..plan })
        };
        let plans = stage.replicas.iter().map(plan);
        plans.collect::<Result<_, _>>().map_err(|error: ScheduleError| error.in_stage(id))
    };

    let stages = schedule.numbered_stages().map(of_stage).collect::<Result<_, _>>()?;
    Ok(SchedulePlan { stages, crossings })
}

fn replica_plan(
    replica: &Replica,
    entry: &Entry,
    graph: &Graph,
    table: &CostTable,
) -> Result<ReplicaPlan, ScheduleError> {
    let tasks = ReplicaTasks::new(replica, graph, table)?;
    let processors = replica.assignments.iter().map(|assignment| assignment.processor.clone()).collect();
    let hand_over = replica.hand_over(entry, graph, table);
    let links = replica.link_uses(entry, graph, table);
    let plans = TaskId::all(tasks.task_count()).map(|id| task_plan(id, &tasks, graph)).collect();
    Ok(ReplicaPlan { processors, hand_over, links, orders: tasks.tracks().to_vec(), tasks: plans })
}

fn task_plan(id: TaskId, tasks: &ReplicaTasks<'_>, graph: &Graph) -> TaskPlan {
    let home = |task: TaskId| tasks.tasks()[task.index()].processor;
    let Task { operator, processor, share, .. } = &tasks.tasks()[id.index()];
    let bytes = graph.operator(*operator).work.bytes();

    let cost = |dependency: Dependency| tasks.transfer(dependency, home(dependency.maker), *processor);

    let mut read_on: Vec<ProcessorId> = tasks.readers(id).map(|dependency| home(dependency.reader)).collect();
    read_on.sort_unstable();
    read_on.dedup();
    read_on.retain(|to| to != processor);
    TaskPlan {
        operator: *operator,
        processor: *processor,
        time: tasks.time(id, *processor).unwrap_or_default(),
        bytes: share.map_or(bytes, |share| bytes_of_part(bytes, share.part, share.of)),
        inputs: tasks.inputs(id).map(|dependency| PlannedInput { dependency, cost: cost(dependency) }).collect(),
        readers: tasks.readers(id).collect(),
        recipients: recipients(tasks, id, *processor, |reader| std::iter::once(home(reader))),
        read_on,
    }
}
