use std::cmp::Reverse;
use std::collections::HashSet;

use millstream_board::ProcessorClass;
use millstream_cost::{CostTable, Nanoseconds, ProcessorIndex};
use millstream_graph::{Graph, OperatorId, ValueId};

use crate::crossing::{Crossing, crossing_costs};
use crate::execution::Execution;
use crate::paces::{
    LinkUse, OccupiedLink, SharedLink, occupied_links, replica_rates, replicated_period, shared_period,
};
use crate::replica_tasks::ReplicaTasks;
use crate::{Assignment, Replica, Schedule, ScheduleError};

/// What a schedule achieves according to a cost table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evaluation {
    /// Stage by stage.
    pub stages: Vec<StageEvaluation>,
    /// What is occupied of links between hosts; empty on a single board.
    pub links: Vec<LinkEvaluation>,
    /// What is occupied of links within boards, between the clusters and accelerators of stages.
    pub board_links: Vec<SharedLink>,
    /// Time between two frames: the longest period of a stage or of a link.
    pub period: Nanoseconds,
    /// Time of one frame through the pipeline: the sum of the stages' slowest replicas and of the ways between hosts.
    pub latency: Nanoseconds,
}

/// What frames occupy of a link between two hosts: of one direction, or of all of it if it is half duplex.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkEvaluation {
    /// The link's name.
    pub link: String,
    /// What of it is occupied.
    pub channel: usize,
    /// Size of what a frame sends over it.
    pub bytes: u64,
    /// For how long that occupies it: no more than one frame passes in this time.
    pub period: Nanoseconds,
}

/// What one stage achieves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StageEvaluation {
    /// Time that each replica needs for a frame, hand-over included.
    pub replica_times: Vec<Nanoseconds>,
    /// What each replica occupies of links for a frame.
    pub links: Vec<Vec<LinkUse>>,
    /// Time between two frames with all replicas at work.
    pub period: Nanoseconds,
}

/// Where a stage's inputs come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// From outside: it is the first stage, and the frame is in the memory that all share.
    Network,
    /// From the stage before it, which hands over all of the frame that is still needed.
    Stage {
        /// The processors of that stage. Any of them may have what is handed over, so the receiver counts with the one from which
        /// it takes longest.
        senders: Vec<ProcessorClass>,
    },
}

impl Schedule {
    /// Where the inputs of the stage of this number come from, counted from 0.
    pub fn entry(&self, stage: usize) -> Entry {
        let before = stage.checked_sub(1).and_then(|before| self.stages.get(before));
        before.map_or(Entry::Network, |before| {
            let assignments = before.replicas.iter().flat_map(|replica| &replica.assignments);
            Entry::Stage { senders: assignments.map(|assignment| assignment.processor.class()).collect() }
        })
    }
}

impl Evaluation {
    /// Frames per second.
    pub fn throughput_hertz(&self) -> f64 {
        1.0 / self.period.seconds()
    }

    /// The link between hosts that lets frames pass least often, if it and no stage is what holds them up.
    pub fn link_bottleneck(&self) -> Option<&LinkEvaluation> {
        let longest = self.links.iter().max_by_key(|link| link.period)?;
        let stages = self.stages.iter().map(|stage| stage.period).max().unwrap_or_default();
        (longest.period > stages).then_some(longest)
    }

    /// The link within a board that lets frames pass least often, if it and nothing else is what holds them up.
    pub fn board_link_bottleneck(&self) -> Option<&SharedLink> {
        let longest = self.board_links.iter().max_by_key(|link| link.period)?;
        let others = self.stages.iter().map(|stage| stage.period).chain(self.links.iter().map(|link| link.period));
        (others.max() < Some(longest.period)).then_some(longest)
    }

    /// The longest that a frame occupies a link within a board; nothing where none is occupied.
    pub fn board_link_period(&self) -> Nanoseconds {
        self.board_links.iter().map(|link| link.period).max().unwrap_or_default()
    }

    /// Whether several stages take frames over the same link within a board, or replicas of a stage that wait for each other there: how long
    /// depends on when they come.
    pub fn shares_board_links(&self) -> bool {
        self.board_links.iter().any(|link| link.stages > 1) || self.stages.iter().any(StageEvaluation::waits_for_links)
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

    /// Whether its replicas wait for each other before links that they share: since these carry no more frames, or since replicas that take
    /// unlike times come there at the same moment again and again.
    fn waits_for_links(&self) -> bool {
        self.period > replicated_period(&self.replica_times) || self.meet_at_links()
    }

    /// Whether replicas that take unlike times share a link. Of those that take the same, each comes when the others have gone.
    fn meet_at_links(&self) -> bool {
        let shares = |links: &[LinkUse], link: &LinkUse| links.iter().any(|own| own.is_of_same_link(link));
        let replicas = || self.replica_times.iter().zip(&self.links);
        replicas().any(|(time, links)| {
            let mut unlike = replicas().filter(|(other, _)| *other != time);
            unlike.any(|(_, own)| links.iter().any(|link| shares(own, link)))
        })
    }

    /// Which part of the frames each replica takes.
    pub fn shares(&self) -> Vec<f64> {
        let rates = self.rates();
        let all: f64 = rates.iter().sum();
        rates.into_iter().map(|rate| rate / all).collect()
    }

    /// Frames per nanosecond that each replica takes.
    fn rates(&self) -> Vec<f64> {
        replica_rates(&self.replica_times, &self.links)
    }
}

impl Schedule {
    /// Period and latency under the execution rules: self-timed processors, transfers beside computation but for ends of them that
    /// occupy a processor, and a stage that takes over its inputs from the processors of the stage before it, before it starts. Replicas that take frames over the same
    /// link take no more than it carries, and links that several stages use carry the frames of all of them; what processors of one replica
    /// send each other is not counted there. Between hosts, both ends pay for what they send and receive, and the way itself goes on beside
    /// computation: it adds to the latency, and a link passes one frame at a time.
    ///
    /// # Errors
    /// [`ScheduleError::Unsupported`] if the table lacks a needed time, [`ScheduleError::Order`] if an operator waits for
    /// one that runs after it, and as [`Schedule::crossings`].
    pub fn evaluate(&self, graph: &Graph, table: &CostTable) -> Result<Evaluation, ScheduleError> {
        let mut stages = Vec::with_capacity(self.stages.len());
        let crossings = self.crossings(graph, table)?;
        let costs = crossing_costs(&crossings);
        for (index, stage) in self.stages.iter().enumerate() {
            let entry = self.entry(index);
            let times = stage.replicas.iter().map(|replica| Ok(replica.time(&entry, graph, table)? + costs[index]));
            let replica_times =
                times.collect::<Result<Vec<_>, _>>().map_err(|error: ScheduleError| error.in_stage(index + 1))?;
            let links: Vec<_> = stage.replicas.iter().map(|replica| replica.link_uses(&entry, graph, table)).collect();
            let period = shared_period(&replica_times, &links);
            stages.push(StageEvaluation { replica_times, links, period });
        }
        let links = occupied_crossings(&crossings);
        let board_links = occupied_links(stages.iter().map(|stage| (stage.links.as_slice(), stage.rates())));
        let between = links.iter().map(|link| link.period).chain(board_links.iter().map(|link| link.period));
        let period = stages.iter().map(|stage| stage.period).chain(between).max().unwrap_or_default();
        let in_stages: Nanoseconds = stages.iter().map(StageEvaluation::latency).sum();
        let on_ways: Nanoseconds = crossings.iter().flatten().map(Crossing::time).sum();
        Ok(Evaluation { stages, links, board_links, period, latency: in_stages + on_ways })
    }
}

/// What frames occupy of each channel that they use, in the order in which they meet them.
fn occupied_crossings(crossings: &[Option<Crossing>]) -> Vec<LinkEvaluation> {
    let mut links: Vec<LinkEvaluation> = Vec::new();
    for Crossing { link, channel, bytes, occupied, .. } in crossings.iter().flatten() {
        match links.iter_mut().find(|known| known.channel == *channel) {
            Some(known) => (known.bytes, known.period) = (known.bytes + bytes, known.period + *occupied),
            None => {
                let (link, channel, bytes) = (link.clone(), *channel, *bytes);
                links.push(LinkEvaluation { link, channel, bytes, period: *occupied });
            }
        }
    }
    links
}

impl Replica {
    /// What a frame's way into and out of this replica costs: the longest of what its processors pay to take over values from
    /// outside the stage and to give back values to the outside. The first stage pays only where its processors have memory of
    /// their own.
    pub fn hand_over(&self, entry: &Entry, graph: &Graph, table: &CostTable) -> Nanoseconds {
        let inside: HashSet<OperatorId> = self.operators().collect();
        let of_assignment = |assignment: &Assignment| {
            let processor = table.find(&assignment.processor.class())?;
            let (made, given) = received_bytes(&assignment.operators, &inside, graph);
            let access = table.access(processor);
            // What the network is given is in the memory that all share.
            let needed = if access.is_some() { made + given } else { made };
            let taken_over = match entry {
                Entry::Network => access.map_or(Nanoseconds::ZERO, |access| access.upload(needed)),
                Entry::Stage { senders } => longest(senders, table, |from| table.hand_over(from, processor, needed)),
            };
            let given_back = access
                .map_or(Nanoseconds::ZERO, |access| access.download(sent_bytes(&assignment.operators, &inside, graph)));
            Some(taken_over + given_back)
        };
        self.assignments.iter().filter_map(of_assignment).max().unwrap_or_default()
    }

    /// What taking a frame over occupies of the links to this replica's processors, each link once.
    pub fn link_uses(&self, entry: &Entry, graph: &Graph, table: &CostTable) -> Vec<LinkUse> {
        let Entry::Stage { senders } = entry else { return Vec::new() };
        let inside: HashSet<OperatorId> = self.operators().collect();
        let mut uses: Vec<LinkUse> = Vec::new();
        for assignment in &self.assignments {
            let Some(processor) = table.find(&assignment.processor.class()) else { continue };
            let (made, given) = received_bytes(&assignment.operators, &inside, graph);
            let bytes = if table.access(processor).is_some() { made + given } else { made };
            let known = senders.iter().filter_map(|from| Some((from.cluster.as_str(), table.find(from)?)));
            let times = known.map(|(sender, from)| (table.link_time(from, processor, bytes), Reverse(sender)));
            // Of equals the first by name, in whatever order they come.
            let Some((time, Reverse(sender))) = times.max().filter(|(time, _)| *time > Nanoseconds::ZERO) else {
                continue;
            };
            let own = LinkUse { sender: sender.to_owned(), receiver: assignment.processor.cluster.clone(), time };
            match uses.iter_mut().find(|other| other.is_of_same_link(&own)) {
                Some(known) => known.time += time,
                None => uses.push(own),
            }
        }
        uses
    }

    /// Time for a frame: hand-over into the stage, and the makespan of its operators.
    ///
    /// # Errors
    /// As [`Schedule::evaluate`].
    pub fn time(&self, entry: &Entry, graph: &Graph, table: &CostTable) -> Result<Nanoseconds, ScheduleError> {
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
    pub fn busy(&self, entry: &Entry, graph: &Graph, table: &CostTable) -> Result<Vec<Nanoseconds>, ScheduleError> {
        let hand_over = self.hand_over(entry, graph, table);
        let execution = self.execute(graph, table)?;
        Ok(execution.busy().iter().map(|&busy| busy + hand_over).collect())
    }
}

/// The longest time from any of the senders that the table knows.
fn longest(senders: &[ProcessorClass], table: &CostTable, time: impl Fn(ProcessorIndex) -> Nanoseconds) -> Nanoseconds {
    senders.iter().filter_map(|sender| table.find(sender)).map(time).max().unwrap_or_default()
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
