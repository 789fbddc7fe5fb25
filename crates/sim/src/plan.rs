//! A schedule in the form in which events are processed fast.

use std::collections::HashMap;

use millstream_board::Processor;
use millstream_cost::{BlockedEnd, CostTable};
use millstream_graph::{Graph, OperatorId};
use millstream_schedule::execution::TaskGraph;
use millstream_schedule::{Entry, Replica, ReplicaTasks, Schedule, ScheduleError, Stage, Task};

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
    schedule.stages.iter().enumerate().map(of_stage).collect()
}

fn replica_plan(
    replica: &Replica,
    stage: usize,
    graph: &Graph,
    table: &CostTable,
) -> Result<ReplicaPlan, ScheduleError> {
    let tasks = ReplicaTasks::new(replica, graph, table)?;
    let execution = tasks.execute(graph)?;
    let operator_plan = |(place, task): (usize, &Task)| OperatorPlan {
        id: task.operator,
        track: task.processor,
        nanoseconds: tasks.time(place, task.processor).unwrap_or_default().0,
        bytes: {
            let bytes = graph.operator(task.operator).work.bytes();
            task.share.map_or(bytes, |share| share.of_bytes(bytes))
        },
        inputs: task.inputs.len(),
        readers: Vec::new(),
        sends: Vec::new(),
        fetches: Vec::new(),
    };
    let mut operators: Vec<OperatorPlan> = tasks.tasks().iter().enumerate().map(operator_plan).collect();
    let mut fetches = 0;
    for maker in 0..operators.len() {
        // Who occupies which processor for the values, as it came out when the tasks ran.
        let mut deliveries: HashMap<(usize, usize), Delivery> = HashMap::new();
        let mut numbers: HashMap<(usize, usize), Fetch> = HashMap::new();
        for transfer in execution.transfers(maker) {
            let nanoseconds = transfer.time.0;
            let key = (transfer.value, transfer.to);
            match transfer.blocks {
                BlockedEnd::Sender => {
                    deliveries.insert(key, Delivery::Sent(operators[maker].sends.len()));
                    operators[maker].sends.push(nanoseconds);
                }
                BlockedEnd::Receiver => {
                    numbers.insert(key, Fetch { maker, number: fetches, nanoseconds });
                    fetches += 1;
                }
            }
        }
        let from = operators[maker].track;
        for dependency in tasks.readers(maker) {
            let reader = dependency.reader;
            let to = operators[reader].track;
            let key = (dependency.value, to);
            if let Some(&fetch) = numbers.get(&key) {
                operators[reader].fetches.push(fetch);
            }
            let beside = || match from == to || numbers.contains_key(&key) {
                true => Delivery::AtOnce,
                false => Delivery::Beside(tasks.transfer(dependency, from, to).time.0),
            };
            let delivery = deliveries.get(&key).copied().unwrap_or_else(beside);
            operators[maker].readers.push((reader, delivery));
        }
    }
    let processors = replica.assignments.iter().map(|assignment| assignment.processor.clone()).collect();
    let hand_over = replica.hand_over(Entry::of_stage(stage), graph, table).0;
    Ok(ReplicaPlan { processors, hand_over, tracks: tasks.tracks().to_vec(), operators, fetches })
}
