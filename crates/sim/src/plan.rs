//! A schedule in the form in which events are processed fast.

use std::collections::HashMap;

use millstream_board::Processor;
use millstream_cost::{BlockedEnd, CostTable, bytes_of_part};
use millstream_graph::{Graph, OperatorId};
use millstream_schedule::execution::{Execution, OutputId, ProcessorId, TaskGraph, TaskId};
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
    /// Per processor, the places of its operators in `operators`, in order.
    pub(crate) tracks: Vec<Vec<usize>>,
    pub(crate) operators: Vec<OperatorPlan>,
    /// How many different values are fetched.
    pub(crate) fetches: usize,
}

/// One operator on its processor.
pub(crate) struct OperatorPlan {
    pub(crate) id: OperatorId,
    pub(crate) track: usize,
    pub(crate) nanoseconds: u64,
    /// What it moves to and from memory.
    pub(crate) bytes: u64,
    /// Values of this stage that it waits for.
    pub(crate) inputs: usize,
    /// Who waits for its values: place of the reader, and how the value gets there.
    pub(crate) readers: Vec<(usize, Delivery)>,
    /// Times of the transfers that its processor makes after it, one after the other.
    pub(crate) sends: Vec<u64>,
    /// Values that its processor has to fetch before it.
    pub(crate) fetches: Vec<Fetch>,
}

/// How a value gets from the operator that makes it to one that reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// It is there as soon as it is made: on the same processor, or for the reader to fetch.
    AtOnce,
    /// By a transfer beside computation that takes so long.
    Beside(u64),
    /// With the maker's transfer of this number.
    Sent(usize),
}

/// A value that a processor fetches before the first operator that reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fetch {
    /// Place of the operator that makes it.
    pub(crate) maker: usize,
    /// The same for all operators of a processor that read the value.
    pub(crate) number: usize,
    pub(crate) nanoseconds: u64,
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
    let execution = tasks.execute(graph)?;
    let operator_plan = |(id, task): (TaskId, &Task)| OperatorPlan {
        id: task.operator,
        track: task.processor.index(),
        nanoseconds: tasks.time(id, task.processor).unwrap_or_default().0,
        bytes: {
            let bytes = graph.operator(task.operator).work.bytes();
            task.share.map_or(bytes, |share| bytes_of_part(bytes, share.part, share.of))
        },
        inputs: task.inputs.len(),
        readers: Vec::new(),
        sends: Vec::new(),
        fetches: Vec::new(),
    };

    let mut operators: Vec<OperatorPlan> =
        TaskId::all(tasks.task_count()).zip(tasks.tasks()).map(operator_plan).collect();
    let mut fetches = 0;
    for maker in TaskId::all(tasks.task_count()) {
        connect(maker, &tasks, &execution, &mut operators, &mut fetches);
    }

    let processors = replica.assignments.iter().map(|assignment| assignment.processor.clone()).collect();
    let hand_over = replica.hand_over(entry, graph, table).0;
    let links = replica.link_uses(entry, graph, table);
    let tracks = tasks.tracks().iter().map(|track| track.iter().map(|task| task.index()).collect()).collect();
    Ok(ReplicaPlan { processors, hand_over, links, tracks, operators, fetches })
}

/// How a value gets to a processor by a transfer that occupies one of the two.
enum Way {
    Sent(usize),
    Fetched(Fetch),
}

/// Notes who occupies which processor for the values of a task, as it came out when the tasks ran, and how its readers get them. Fetches are
/// counted through all tasks.
fn connect(
    maker: TaskId,
    tasks: &ReplicaTasks<'_>,
    execution: &Execution,
    operators: &mut [OperatorPlan],
    fetches: &mut usize,
) {
    let mut ways: HashMap<(OutputId, ProcessorId), Way> = HashMap::new();
    let own = maker.index();
    for transfer in execution.transfers(maker) {
        let nanoseconds = transfer.time.0;
        let way = match transfer.blocks {
            BlockedEnd::Sender => {
                operators[own].sends.push(nanoseconds);
                Way::Sent(operators[own].sends.len() - 1)
            }
            BlockedEnd::Receiver => {
                *fetches += 1;
                Way::Fetched(Fetch { maker: own, number: *fetches - 1, nanoseconds })
            }
        };
        ways.insert((transfer.value, transfer.to), way);
    }

    let from = ProcessorId::new(operators[own].track);
    for dependency in tasks.readers(maker) {
        let reader = dependency.reader.index();
        let to = ProcessorId::new(operators[reader].track);
        let delivery = match ways.get(&(dependency.value, to)) {
            Some(&Way::Sent(number)) => Delivery::Sent(number),
            Some(&Way::Fetched(fetch)) => {
                operators[reader].fetches.push(fetch);
                Delivery::AtOnce
            }
            None if from == to => Delivery::AtOnce,
            None => Delivery::Beside(tasks.transfer(dependency, from, to).time.0),
        };
        operators[own].readers.push((reader, delivery));
    }
}
