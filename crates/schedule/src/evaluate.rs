use std::collections::{HashMap, HashSet};

use millstream_cost::{BlockedEnd, CostTable, Nanoseconds, ProcessorIndex};
use millstream_graph::{Graph, OperatorId, ValueId};

use crate::{Assignment, Replica, Schedule, ScheduleError};

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
    Nanoseconds((1.0 / rate).round() as u64)
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
    /// What a frame's way into this replica costs: the longest of what its processors pay to take over values that earlier
    /// stages made. `stage` counts from 0; the first stage pays nothing.
    pub fn hand_over(&self, stage: usize, graph: &Graph, table: &CostTable) -> Nanoseconds {
        if stage == 0 {
            return Nanoseconds::ZERO;
        }
        let own: HashSet<OperatorId> = self.operators().collect();
        let of_assignment = |assignment: &Assignment| {
            let processor = table.find(&assignment.processor.class())?;
            Some(table.hand_over(processor, received_bytes(&assignment.operators, &own, graph)))
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
    let mut processors = Vec::with_capacity(replica.assignments.len());
    for assignment in &replica.assignments {
        let class = assignment.processor.class();
        let unsupported = |operator: OperatorId| ScheduleError::Unsupported {
            operator: graph.operator(operator).name.clone(),
            class: class.clone(),
        };
        let first = assignment.operators.first().copied();
        let processor = match (table.find(&class), first) {
            (Some(processor), _) => processor,
            (None, Some(operator)) => return Err(unsupported(operator)),
            (None, None) => continue,
        };
        let times = assignment
            .operators
            .iter()
            .map(|&operator| table.time(processor, operator.index()).ok_or_else(|| unsupported(operator)));
        processors.push(Track { processor, operators: &assignment.operators, times: times.collect::<Result<_, _>>()? });
    }
    Ok(replica.hand_over(stage, graph, table) + makespan(&processors, stage, graph, table)?)
}

/// Bytes of distinct values that operators outside the stage made.
fn received_bytes(operators: &[OperatorId], own: &HashSet<OperatorId>, graph: &Graph) -> u64 {
    let mut seen = HashSet::new();
    operators
        .iter()
        .flat_map(|&operator| &graph.operator(operator).inputs)
        .filter(|&&value| graph.producer(value).is_some_and(|producer| !own.contains(&producer)) && seen.insert(value))
        .map(|&value| graph.value(value).bytes().unwrap_or(0))
        .sum()
}

/// One processor's part of a stage.
struct Track<'a> {
    processor: ProcessorIndex,
    operators: &'a [OperatorId],
    times: Vec<Nanoseconds>,
}

/// Self-timed execution: every processor runs its operators in order, each as soon as the processor is free and its inputs
/// have arrived. A value that another processor made arrives after a transfer, which all readers there share. A transfer that
/// blocks its sender follows the operator, to one processor after the other; one that blocks its receiver precedes the first
/// operator there that reads the value.
fn makespan(
    tracks: &[Track<'_>],
    stage: usize,
    graph: &Graph,
    table: &CostTable,
) -> Result<Nanoseconds, ScheduleError> {
    if let [track] = tracks {
        return Ok(track.times.iter().copied().sum());
    }
    let mut home: HashMap<OperatorId, usize> = HashMap::new();
    for (index, track) in tracks.iter().enumerate() {
        home.extend(track.operators.iter().map(|&operator| (operator, index)));
    }
    let mut finished: HashMap<OperatorId, Nanoseconds> = HashMap::new();
    // When a value is on another processor, as far as a sender or a receiver has seen to it.
    let mut delivered: HashMap<(ValueId, usize), Nanoseconds> = HashMap::new();
    let mut free = vec![Nanoseconds::ZERO; tracks.len()];
    let mut next = vec![0; tracks.len()];
    let mut last = Nanoseconds::ZERO;
    let transfer = |value: ValueId, from: usize, to: usize| {
        let bytes = graph.value(value).bytes().unwrap_or(0);
        let (from, to) = (tracks[from].processor, tracks[to].processor);
        (table.transfer(from, to, bytes), table.blocks(from, to))
    };
    loop {
        let mut advanced = false;
        for (index, track) in tracks.iter().enumerate() {
            while let Some(&operator) = track.operators.get(next[index]) {
                let inputs = graph.operator(operator).inputs.iter().filter_map(|&value| {
                    let producer = graph.producer(value)?;
                    Some((value, producer, *home.get(&producer)?))
                });
                let inputs: Vec<(ValueId, OperatorId, usize)> = inputs.collect();
                if inputs.iter().any(|(_, producer, _)| !finished.contains_key(producer)) {
                    break;
                }
                let mut start = free[index];
                let mut arrival = Nanoseconds::ZERO;
                let mut fetched = Vec::new();
                for (value, producer, from) in inputs {
                    let made = finished[&producer];
                    if from == index {
                        arrival = arrival.max(made);
                    } else if let Some(&there) = delivered.get(&(value, index)) {
                        arrival = arrival.max(there);
                    } else {
                        let (time, blocked) = transfer(value, from, index);
                        match blocked {
                            Some(BlockedEnd::Receiver) => fetched.push((made, value, time)),
                            _ => arrival = arrival.max(made + time),
                        }
                    }
                }
                // In the order in which they were made.
                fetched.sort_unstable();
                for (made, value, time) in fetched {
                    start = start.max(made) + time;
                    delivered.insert((value, index), start);
                }
                let end = start.max(arrival) + track.times[next[index]];
                finished.insert(operator, end);
                last = last.max(end);
                free[index] = end;
                for &value in &graph.operator(operator).outputs {
                    for to in (0..tracks.len()).filter(|&to| to != index) {
                        let is_read = graph.readers(value).iter().any(|reader| home.get(reader) == Some(&to));
                        let (time, blocked) = transfer(value, index, to);
                        if is_read && blocked == Some(BlockedEnd::Sender) {
                            free[index] += time;
                            delivered.insert((value, to), free[index]);
                        }
                    }
                }
                next[index] += 1;
                advanced = true;
            }
        }
        if !advanced {
            break;
        }
    }
    for (track, next) in tracks.iter().zip(next) {
        if let Some(&operator) = track.operators.get(next) {
            let waits = graph.operator(operator).inputs.iter().filter_map(|&value| graph.producer(value));
            let needs = waits.into_iter().find(|producer| !finished.contains_key(producer)).unwrap_or(operator);
            let name = |id: OperatorId| graph.operator(id).name.clone();
            return Err(ScheduleError::Order { operator: name(operator), stage: stage + 1, needs: name(needs) });
        }
    }
    Ok(last)
}
