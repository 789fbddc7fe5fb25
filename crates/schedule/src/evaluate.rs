use std::collections::{HashMap, HashSet};

use millstream_cost::{BlockedEnd, CostTable, Nanoseconds, ProcessorIndex};
use millstream_graph::{Graph, OperatorId, ValueId};

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
            let times = stage.replicas.iter().map(|replica| replica_time(replica, index, graph, table));
            let replica_times = times.collect::<Result<Vec<_>, _>>()?;
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
    /// outside the stage and to give back values to the outside. `stage` counts from 0; the first stage pays only where its
    /// processors have memory of their own.
    pub fn hand_over(&self, stage: usize, graph: &Graph, table: &CostTable) -> Nanoseconds {
        let own: HashSet<OperatorId> = self.operators().collect();
        let of_assignment = |assignment: &Assignment| {
            let processor = table.find(&assignment.processor.class())?;
            let (made, given) = received_bytes(&assignment.operators, &own, graph);
            let hand_over = if stage == 0 { Nanoseconds::ZERO } else { table.hand_over(processor, made) };
            let access = table.access(processor).map_or(Nanoseconds::ZERO, |access| {
                access.upload(made + given) + access.download(sent_bytes(&assignment.operators, &own, graph))
            });
            Some(hand_over + access)
        };
        self.assignments.iter().filter_map(of_assignment).max().unwrap_or_default()
    }
}

/// Hand-over into the stage plus the makespan of its operators.
fn replica_time(
    replica: &Replica,
    stage: usize,
    graph: &Graph,
    table: &CostTable,
) -> Result<Nanoseconds, ScheduleError> {
    Ok(replica.hand_over(stage, graph, table) + replica.makespan(stage, graph, table)?)
}

/// Bytes of distinct values that operators outside the stage made, and of those that the network is given.
fn received_bytes(operators: &[OperatorId], own: &HashSet<OperatorId>, graph: &Graph) -> (u64, u64) {
    let mut seen = HashSet::new();
    let (mut made, mut given) = (0, 0);
    for &value in operators.iter().flat_map(|&operator| &graph.operator(operator).inputs) {
        if !seen.insert(value) {
            continue;
        }
        let bytes = graph.value(value).bytes().unwrap_or(0);
        match graph.producer(value) {
            Some(producer) if own.contains(&producer) => {}
            Some(_) => made += bytes,
            None => given += bytes,
        }
    }
    (made, given)
}

/// Bytes of the values that operators outside the stage read, or that the network returns.
fn sent_bytes(operators: &[OperatorId], own: &HashSet<OperatorId>, graph: &Graph) -> u64 {
    let outputs = operators.iter().flat_map(|&operator| &graph.operator(operator).outputs);
    let is_sent = |value: &ValueId| {
        graph.outputs().contains(value) || graph.readers(*value).iter().any(|reader| !own.contains(reader))
    };
    outputs.copied().filter(is_sent).map(|value| graph.value(value).bytes().unwrap_or(0)).sum()
}

/// When a processor has what a task made, as far as a sender or a receiver has seen to it.
type Delivered = HashMap<(ValueId, usize, usize), Nanoseconds>;

impl Replica {
    /// Time from when the inputs are there until the last operator is done, by self-timed execution: every processor runs its
    /// operators in order, each as soon as the processor is free and its inputs have arrived. What another processor made
    /// arrives after a transfer, which all readers there share. A transfer that blocks its sender follows the operator, to one
    /// processor after the other; one that blocks its receiver precedes the first operator there that reads the value.
    ///
    /// # Errors
    /// As [`Schedule::evaluate`]; `stage`, counted from 0, is for the message only.
    pub fn makespan(&self, stage: usize, graph: &Graph, table: &CostTable) -> Result<Nanoseconds, ScheduleError> {
        let tasks = self.tasks(graph);
        if self.assignments.len() == 1 {
            return Ok(self.times(&tasks, graph, table)?.1.into_iter().sum());
        }
        let timeline = self.timeline(&tasks, stage, graph, table)?;
        Ok(timeline.into_iter().map(|(_, end)| end).max().unwrap_or_default())
    }

    /// Start and end of each of the replica's tasks, by the rules of [`Replica::makespan`].
    ///
    /// # Errors
    /// As [`Schedule::evaluate`]; `stage`, counted from 0, is for the message only.
    pub fn timeline(
        &self,
        tasks: &[Task],
        stage: usize,
        graph: &Graph,
        table: &CostTable,
    ) -> Result<Vec<(Nanoseconds, Nanoseconds)>, ScheduleError> {
        let (classes, times) = self.times(tasks, graph, table)?;
        let mut tracks = vec![Vec::new(); self.assignments.len()];
        let mut readers: Vec<Vec<(usize, ValueId, u64)>> = vec![Vec::new(); tasks.len()];
        for (index, task) in tasks.iter().enumerate() {
            tracks[task.processor].push(index);
            for input in &task.inputs {
                let reader = (task.processor, input.value, input.bytes);
                if !readers[input.maker].contains(&reader) {
                    readers[input.maker].push(reader);
                }
            }
        }
        let transfer = |from: usize, to: usize, bytes: u64| match (classes[from], classes[to]) {
            (Some(from), Some(to)) => (table.transfer(from, to, bytes), table.blocks(from, to)),
            _ => (Nanoseconds::ZERO, None),
        };
        let mut finished: Vec<Option<Nanoseconds>> = vec![None; tasks.len()];
        let mut delivered = Delivered::new();
        let mut free = vec![Nanoseconds::ZERO; tracks.len()];
        let mut next = vec![0; tracks.len()];
        let mut starts = vec![Nanoseconds::ZERO; tasks.len()];
        loop {
            let mut advanced = false;
            for (processor, track) in tracks.iter().enumerate() {
                while let Some(&index) = track.get(next[processor]) {
                    let task = &tasks[index];
                    let made: Option<Vec<Nanoseconds>> =
                        task.inputs.iter().map(|input| finished[input.maker]).collect();
                    let Some(made) = made else { break };
                    let mut start = free[processor];
                    let mut arrival = Nanoseconds::ZERO;
                    let mut fetched = Vec::new();
                    for (input, made) in task.inputs.iter().zip(made) {
                        let from = tasks[input.maker].processor;
                        let key = (input.value, input.maker, processor);
                        if from == processor {
                            arrival = arrival.max(made);
                        } else if let Some(&there) = delivered.get(&key) {
                            arrival = arrival.max(there);
                        } else {
                            let (time, blocked) = transfer(from, processor, input.bytes);
                            match blocked {
                                Some(BlockedEnd::Receiver) => fetched.push((made, key, time)),
                                _ => arrival = arrival.max(made + time),
                            }
                        }
                    }
                    // In the order in which they were made.
                    fetched.sort_unstable();
                    for (made, key, time) in fetched {
                        start = start.max(made) + time;
                        delivered.insert(key, start);
                    }
                    starts[index] = start.max(arrival);
                    let end = starts[index] + times[index];
                    finished[index] = Some(end);
                    free[processor] = end;
                    for &value in &graph.operator(task.operator).outputs {
                        for to in (0..tracks.len()).filter(|&to| to != processor) {
                            let read = readers[index].iter().find(|reader| reader.0 == to && reader.1 == value);
                            let Some(&(_, _, bytes)) = read else { continue };
                            let (time, blocked) = transfer(processor, to, bytes);
                            if blocked == Some(BlockedEnd::Sender) {
                                free[processor] += time;
                                delivered.insert((value, index, to), free[processor]);
                            }
                        }
                    }
                    next[processor] += 1;
                    advanced = true;
                }
            }
            if !advanced {
                break;
            }
        }
        for (track, next) in tracks.iter().zip(next) {
            if let Some(&index) = track.get(next) {
                let mut waits = tasks[index].inputs.iter().map(|input| input.maker);
                let needs = waits.find(|&maker| finished[maker].is_none()).unwrap_or(index);
                let name = |task: usize| graph.operator(tasks[task].operator).name.clone();
                return Err(ScheduleError::Order { operator: name(index), stage: stage + 1, needs: name(needs) });
            }
        }
        Ok(starts.into_iter().zip(finished.into_iter().map(Option::unwrap_or_default)).collect())
    }

    /// The processors' places in the table, and each task's time.
    fn times(
        &self,
        tasks: &[Task],
        graph: &Graph,
        table: &CostTable,
    ) -> Result<(Vec<Option<ProcessorIndex>>, Vec<Nanoseconds>), ScheduleError> {
        let classes: Vec<Option<ProcessorIndex>> =
            self.assignments.iter().map(|assignment| table.find(&assignment.processor.class())).collect();
        let time = |task: &Task| {
            let known = classes[task.processor].and_then(|processor| task_time(task, processor, table));
            known.ok_or_else(|| ScheduleError::Unsupported {
                operator: graph.operator(task.operator).name.clone(),
                class: self.assignments[task.processor].processor.class(),
            })
        };
        let times = tasks.iter().map(time).collect::<Result<_, _>>()?;
        Ok((classes, times))
    }
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
