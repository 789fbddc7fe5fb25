//! A schedule in the form in which events are processed fast.

use std::collections::HashMap;

use millstream_board::Processor;
use millstream_cost::{BlockedEnd, CostTable};
use millstream_graph::{Graph, OperatorId, ValueId};
use millstream_schedule::{Replica, Schedule, ScheduleError, Stage, Task, task_time};

/// What one replica does for a frame.
pub(crate) struct ReplicaPlan {
    pub(crate) processors: Vec<Processor>,
    pub(crate) hand_over: u64,
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

/// The replicas of each stage.
pub(crate) fn plan(
    schedule: &Schedule,
    graph: &Graph,
    table: &CostTable,
) -> Result<Vec<Vec<ReplicaPlan>>, ScheduleError> {
    // What can't be evaluated can't be simulated, and for the same reasons.
    schedule.evaluate(graph, table)?;
    let of_stage = |(index, stage): (usize, &Stage)| {
        stage.replicas.iter().map(|replica| replica_plan(replica, index, graph, table)).collect()
    };
    Ok(schedule.stages.iter().enumerate().map(of_stage).collect())
}

fn replica_plan(replica: &Replica, stage: usize, graph: &Graph, table: &CostTable) -> ReplicaPlan {
    let classes: Vec<_> =
        replica.assignments.iter().map(|assignment| table.find(&assignment.processor.class())).collect();
    let tasks = replica.tasks(graph);
    let operator_plan = |task: &Task| OperatorPlan {
        id: task.operator,
        track: task.processor,
        nanoseconds: classes[task.processor]
            .and_then(|processor| task_time(task, processor, table))
            .unwrap_or_default()
            .0,
        bytes: {
            let bytes = graph.operator(task.operator).work.bytes();
            task.share.map_or(bytes, |share| share.of_bytes(bytes))
        },
        inputs: task.inputs.len(),
        readers: Vec::new(),
        sends: Vec::new(),
        fetches: Vec::new(),
    };
    let mut operators: Vec<OperatorPlan> = tasks.iter().map(operator_plan).collect();
    let mut tracks = vec![Vec::new(); replica.assignments.len()];
    // Who reads what a task makes, in the order in which it sends: value by value, processor by processor.
    let mut reads: Vec<Vec<(usize, usize, ValueId, u64)>> = vec![Vec::new(); tasks.len()];
    for (reader, task) in tasks.iter().enumerate() {
        tracks[task.processor].push(reader);
        for input in &task.inputs {
            reads[input.maker].push((task.processor, reader, input.value, input.bytes));
        }
    }
    let mut fetches: HashMap<(ValueId, usize, usize), usize> = HashMap::new();
    for (maker, reads) in reads.iter().enumerate() {
        let from = tasks[maker].processor;
        for &value in &graph.operator(tasks[maker].operator).outputs {
            for to in 0..tracks.len() {
                let own: Vec<_> = reads.iter().filter(|read| read.0 == to && read.2 == value).collect();
                let (Some(sender), Some(receiver), Some(&&(.., bytes))) = (classes[from], classes[to], own.first())
                else {
                    continue;
                };
                let nanoseconds = table.transfer(sender, receiver, bytes).0;
                let delivery = match table.blocks(sender, receiver) {
                    _ if from == to => Delivery::AtOnce,
                    None => Delivery::Beside(nanoseconds),
                    Some(BlockedEnd::Sender) => {
                        operators[maker].sends.push(nanoseconds);
                        Delivery::Sent(operators[maker].sends.len() - 1)
                    }
                    Some(BlockedEnd::Receiver) => {
                        let known = fetches.len();
                        let number = *fetches.entry((value, maker, to)).or_insert(known);
                        for &&(_, reader, ..) in &own {
                            operators[reader].fetches.push(Fetch { maker, number, nanoseconds });
                        }
                        Delivery::AtOnce
                    }
                };
                operators[maker].readers.extend(own.iter().map(|read| (read.1, delivery)));
            }
        }
    }
    let processors = replica.assignments.iter().map(|assignment| assignment.processor.clone()).collect();
    let hand_over = replica.hand_over(stage, graph, table).0;
    ReplicaPlan { processors, hand_over, tracks, operators, fetches: fetches.len() }
}
