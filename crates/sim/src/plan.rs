//! A schedule in the form in which events are processed fast.

use millstream_board::Processor;
use millstream_cost::{CostTable, Nanoseconds, bytes_of_part};
use millstream_graph::{Graph, OperatorId};
use millstream_schedule::execution::{Dependency, ProcessorId, Recipient, TaskGraph, TaskId, TransferCost, recipients};
use millstream_schedule::{
    Crossing, Entry, LinkUse, Replica, ReplicaTasks, Schedule, ScheduleError, Stage, Task, crossing_costs,
};

/// What one replica does for a frame.
pub(crate) struct ReplicaPlan {
    pub(crate) processors: Vec<Processor>,
    /// Taking it over, and what frames from and to other hosts cost on top.
    pub(crate) hand_over: u64,
    /// What of it occupies links to the replica's clusters and accelerators.
    pub(crate) links: Vec<LinkUse>,
    /// Per processor, its tasks in order.
    pub(crate) tracks: Vec<Vec<TaskId>>,
    pub(crate) tasks: Vec<TaskPlan>,
}

/// One operator, or one part of it, on its processor.
pub(crate) struct TaskPlan {
    pub(crate) operator: OperatorId,
    pub(crate) processor: ProcessorId,
    pub(crate) time: Nanoseconds,
    /// What it moves to and from memory.
    pub(crate) bytes: u64,
    /// What it reads, in the order of the dependencies' ids, each with what moving it takes.
    inputs: Vec<(Dependency, TransferCost)>,
    readers: Vec<Dependency>,
    /// Where its processor sends its values.
    pub(crate) recipients: Vec<Recipient>,
    /// The other processors on which its values are read.
    pub(crate) read_on: Vec<ProcessorId>,
}

impl TaskGraph for ReplicaPlan {
    fn task_count(&self) -> usize {
        self.tasks.len()
    }

    fn processor_count(&self) -> usize {
        self.tracks.len()
    }

    fn time(&self, task: TaskId, processor: ProcessorId) -> Option<Nanoseconds> {
        let task = &self.tasks[task.index()];
        (task.processor == processor).then_some(task.time)
    }

    fn inputs(&self, task: TaskId) -> impl Iterator<Item = Dependency> {
        self.tasks[task.index()].inputs.iter().map(|(dependency, _)| *dependency)
    }

    fn readers(&self, task: TaskId) -> impl Iterator<Item = Dependency> {
        self.tasks[task.index()].readers.iter().copied()
    }

    fn transfer(&self, dependency: Dependency, _from: ProcessorId, _to: ProcessorId) -> TransferCost {
        self.tasks[dependency.reader.index()].inputs[dependency.id.index()].1
    }
}

/// Stage by stage, its replicas, and the way to it from another host.
pub(crate) type StagePlans = (Vec<Vec<ReplicaPlan>>, Vec<Option<Crossing>>);

/// The replicas of each stage, and the ways to them from other hosts.
pub(crate) fn plan(schedule: &Schedule, graph: &Graph, table: &CostTable) -> Result<StagePlans, ScheduleError> {
    let crossings = schedule.crossings(graph, table)?;
    let costs = crossing_costs(&crossings);
    let of_stage = |(index, stage): (usize, &Stage)| {
        let entry = schedule.entry(index);
        let plan = |replica| -> Result<ReplicaPlan, ScheduleError> {
            let own = replica_plan(replica, &entry, graph, table)?;
            Ok(ReplicaPlan { hand_over: own.hand_over + costs[index].0, ..own })
        };
        let plans = stage.replicas.iter().map(plan);
        plans.collect::<Result<_, _>>().map_err(|error: ScheduleError| error.in_stage(index + 1))
    };
    let stages = schedule.stages.iter().enumerate().map(of_stage).collect::<Result<_, _>>()?;
    Ok((stages, crossings))
}

fn replica_plan(
    replica: &Replica,
    entry: &Entry,
    graph: &Graph,
    table: &CostTable,
) -> Result<ReplicaPlan, ScheduleError> {
    let tasks = ReplicaTasks::new(replica, graph, table)?;
    let processors = replica.assignments.iter().map(|assignment| assignment.processor.clone()).collect();
    let hand_over = replica.hand_over(entry, graph, table).0;
    let links = replica.link_uses(entry, graph, table);
    let own = TaskId::all(tasks.task_count()).map(|id| task_plan(id, &tasks, graph)).collect();
    Ok(ReplicaPlan { processors, hand_over, links, tracks: tasks.tracks().to_vec(), tasks: own })
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
        inputs: tasks.inputs(id).map(|dependency| (dependency, cost(dependency))).collect(),
        readers: tasks.readers(id).collect(),
        recipients: recipients(tasks, id, *processor, |reader| std::iter::once(home(reader))),
        read_on,
    }
}
