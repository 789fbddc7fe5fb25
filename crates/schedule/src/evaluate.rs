use std::collections::HashSet;

use millstream_cost::{CostTable, Nanoseconds, ProcessorIndex};
use millstream_graph::{Graph, OperatorId, ValueId};

use crate::execution::Execution;
use crate::replica_tasks::ReplicaTasks;
use crate::{Assignment, Replica, Schedule, ScheduleError, Task};

/// What a schedule achieves according to a cost table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evaluation {
    /// Stage by stage.
    pub stages: Vec<StageEvaluation>,
    /// Time between two frames: the longest stage period.
    pub period: Nanoseconds,
    /// Time of one frame through the pipeline: the sum of the stages' slowest replicas.
    pub latency: Nanoseconds,
}

/// What one stage achieves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StageEvaluation {
    /// Time that each replica needs for a frame, hand-over included.
    pub replica_times: Vec<Nanoseconds>,
    /// Time between two frames with all replicas at work.
    pub period: Nanoseconds,
}

/// Where a stage's inputs come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// From outside: it is the first stage, and the frame is in the memory that all share.
    Network,
    /// From the stage before it.
    Stage,
}

impl Entry {
    /// That of the stage of this number, counted from 0.
    pub fn of_stage(stage: usize) -> Self {
        if stage == 0 { Self::Network } else { Self::Stage }
    }
}

impl Evaluation {
    /// Frames per second.
    pub fn throughput_hertz(&self) -> f64 {
        1.0 / self.period.seconds()
    }

    /// The stage with the longest period.
    pub fn bottleneck(&self) -> Option<usize> {
        (0..self.stages.len()).rev().max_by_key(|&index| self.stages[index].period)
    }
}

impl StageEvaluation {
    /// The slowest replica's time.
    pub fn latency(&self) -> Nanoseconds {
        self.replica_times.iter().copied().max().unwrap_or_default()
    }
}

/// Period of replicas that take frames in turn, each when it is free: `1 / (1/t1 + 1/t2 + ...)`.
pub fn replicated_period(times: &[Nanoseconds]) -> Nanoseconds {
    if let [time] = times {
        return *time;
    }
    let rate: f64 = times.iter().map(|time| 1.0 / time.0.max(1) as f64).sum();
    // However many share the frames, there is some time between two of them.
    Nanoseconds(((1.0 / rate).round() as u64).max(1))
}

impl Schedule {
    /// Period and latency under the execution semantics: self-timed processors, transfers beside computation, and a stage
    /// that takes over its inputs before it starts.
    ///
    /// # Errors
    /// [`ScheduleError::Unsupported`] if the table lacks a needed time, [`ScheduleError::Order`] if an operator waits for
    /// one that runs after it.
    pub fn evaluate(&self, graph: &Graph, table: &CostTable) -> Result<Evaluation, ScheduleError> {
        let mut stages = Vec::with_capacity(self.stages.len());
        for (index, stage) in self.stages.iter().enumerate() {
            let times = stage.replicas.iter().map(|replica| replica.time(Entry::of_stage(index), graph, table));
            let replica_times = times.collect::<Result<Vec<_>, _>>().map_err(|error| error.in_stage(index + 1))?;
            let period = replicated_period(&replica_times);
            stages.push(StageEvaluation { replica_times, period });
        }
        let period = stages.iter().map(|stage| stage.period).max().unwrap_or_default();
        let latency = stages.iter().map(StageEvaluation::latency).sum();
        Ok(Evaluation { stages, period, latency })
    }
}

impl Replica {
    /// What a frame's way into and out of this replica costs: the longest of what its processors pay to take over values from
    /// outside the stage and to give back values to the outside. The first stage pays only where its processors have memory of
    /// their own.
    pub fn hand_over(&self, entry: Entry, graph: &Graph, table: &CostTable) -> Nanoseconds {
        let inside: HashSet<OperatorId> = self.operators().collect();
        let of_assignment = |assignment: &Assignment| {
            let processor = table.find(&assignment.processor.class())?;
            let (made, given) = received_bytes(&assignment.operators, &inside, graph);
            let hand_over = match entry {
                Entry::Network => Nanoseconds::ZERO,
                Entry::Stage => table.hand_over(processor, made),
            };
            let access = table.access(processor).map_or(Nanoseconds::ZERO, |access| {
                access.upload(made + given) + access.download(sent_bytes(&assignment.operators, &inside, graph))
            });
            Some(hand_over + access)
        };
        self.assignments.iter().filter_map(of_assignment).max().unwrap_or_default()
    }

    /// Time for a frame: hand-over into the stage, and the makespan of its operators.
    ///
    /// # Errors
    /// As [`Schedule::evaluate`].
    pub fn time(&self, entry: Entry, graph: &Graph, table: &CostTable) -> Result<Nanoseconds, ScheduleError> {
        Ok(self.hand_over(entry, graph, table) + self.execute(graph, table)?.makespan())
    }

    /// Runs the replica's tasks, from when its inputs are there, by the rules of [`execution`](crate::execution). The tasks are those
    /// of [`Replica::tasks`].
    ///
    /// # Errors
    /// As [`Schedule::evaluate`].
    pub fn execute(&self, graph: &Graph, table: &CostTable) -> Result<Execution, ScheduleError> {
        ReplicaTasks::new(self, graph, table)?.execute(graph)
    }

    /// How long each processor works for a frame that the replica takes: taking it over, its operators, and transfers that
    /// occupy it.
    ///
    /// # Errors
    /// As [`Schedule::evaluate`].
    pub fn busy(&self, entry: Entry, graph: &Graph, table: &CostTable) -> Result<Vec<Nanoseconds>, ScheduleError> {
        let hand_over = self.hand_over(entry, graph, table);
        let execution = self.execute(graph, table)?;
        Ok(execution.busy().iter().map(|&busy| busy + hand_over).collect())
    }
}

/// Bytes of distinct values that operators outside the stage made, and of those that the network is given.
fn received_bytes(operators: &[OperatorId], inside: &HashSet<OperatorId>, graph: &Graph) -> (u64, u64) {
    let mut seen = HashSet::new();
    let (mut made, mut given) = (0, 0);
    for &value in operators.iter().flat_map(|&operator| &graph.operator(operator).inputs) {
        if !seen.insert(value) {
            continue;
        }
        let bytes = graph.value(value).bytes().unwrap_or(0);
        match graph.producer(value) {
            Some(producer) if inside.contains(&producer) => {}
            Some(_) => made += bytes,
            None => given += bytes,
        }
    }
    (made, given)
}

/// Bytes of the values that operators outside the stage read, or that the network returns.
fn sent_bytes(operators: &[OperatorId], inside: &HashSet<OperatorId>, graph: &Graph) -> u64 {
    let outputs = operators.iter().flat_map(|&operator| &graph.operator(operator).outputs);
    let is_sent = |value: &ValueId| {
        graph.outputs().contains(value) || graph.readers(*value).iter().any(|reader| !inside.contains(reader))
    };
    outputs.copied().filter(is_sent).map(|value| graph.value(value).bytes().unwrap_or(0)).sum()
}

/// What a task takes on a processor of this class; `None` if it is not supported there.
pub fn task_time(task: &Task, processor: ProcessorIndex, table: &CostTable) -> Option<Nanoseconds> {
    let operator = task.operator.index();
    match task.share {
        None => table.time(processor, operator),
        Some(share) => {
            let apart = if share.is_head { table.part(processor, operator).apart } else { Nanoseconds::ZERO };
            Some(table.part_time(processor, operator, share.channels, share.of)? + apart)
        }
    }
}
