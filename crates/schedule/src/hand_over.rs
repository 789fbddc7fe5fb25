//! Hand-over: what taking a frame over from the stage before costs a replica, and what it occupies of links.

use std::cmp::Reverse;
use std::collections::HashSet;

use millstream_board::ProcessorClass;
use millstream_cost::{ClassId, CostTable, Nanoseconds};
use millstream_graph::{Graph, OperatorId, ValueId};

use crate::schedule::{Assignment, Replica, Schedule};
use crate::service_rates::{LinkUse, OccupiedLink};
use crate::stage_id::StageId;

/// The origin of a stage's inputs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// From outside: it is the first stage, and the frame is in the memory that all share.
    Network,
    /// From the stage before it, which hands over all of the frame that is still needed.
    Stage {
        /// The processors of that stage. Any of them may have what is handed over, so the receiver counts with the one
        /// from which it takes longest.
        senders: Vec<ProcessorClass>,
    },
}

impl Schedule {
    /// Where the inputs of a stage come from.
    pub fn entry(&self, stage: StageId) -> Entry {
        let before = stage.previous().and_then(|before| self.stages.get(before.index()));
        before.map_or(Entry::Network, |before| {
            let assignments = before.replicas.iter().flat_map(|replica| &replica.assignments);
            Entry::Stage { senders: assignments.map(|assignment| assignment.processor.class()).collect() }
        })
    }
}

impl Replica {
    /// What a frame's way into and out of this replica costs: the longest of what its processors pay to take over
    /// values from outside the stage and to give back values to the outside. The first stage pays only where its
    /// processors have memory of their own.
    pub fn hand_over(&self, entry: &Entry, graph: &Graph, table: &CostTable) -> Nanoseconds {
        let inside: HashSet<OperatorId> = self.operators().collect();
        let of_assignment = |assignment: &Assignment| {
            let processor = table.find(&assignment.processor.class())?;
            let access = table.access(processor);
            let needed = received_bytes(&assignment.operators, &inside, graph, access.is_some());
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
            let bytes = received_bytes(&assignment.operators, &inside, graph, table.access(processor).is_some());
            let senders = senders.iter().filter_map(|from| Some((from.cluster.as_str(), table.find(from)?)));
            let times = senders.map(|(sender, from)| (table.link_time(from, processor, bytes), Reverse(sender)));
            // Of equals the first by name, in whatever order they come.
            let Some((time, Reverse(sender))) = times.max().filter(|(time, _)| *time > Nanoseconds::ZERO) else {
                continue;
            };
            let link = LinkUse { sender: sender.to_owned(), receiver: assignment.processor.cluster.clone(), time };
            match uses.iter_mut().find(|other| other.is_of_same_link(&link)) {
                Some(used) => used.time += time,
                None => uses.push(link),
            }
        }
        uses
    }
}

/// The longest time from any of the senders that the table knows.
fn longest(senders: &[ProcessorClass], table: &CostTable, time: impl Fn(ClassId) -> Nanoseconds) -> Nanoseconds {
    senders.iter().filter_map(|sender| table.find(sender)).map(time).max().unwrap_or_default()
}

/// Bytes of distinct values that a processor receives from outside the stage: what other operators made, and what the
/// network is given if the processor has memory of its own, as that is in the memory that all share.
fn received_bytes(operators: &[OperatorId], inside: &HashSet<OperatorId>, graph: &Graph, has_own_memory: bool) -> u64 {
    let mut seen = HashSet::new();
    let mut received = 0;
    for &value in operators.iter().flat_map(|&operator| &graph.operator(operator).inputs) {
        if !seen.insert(value) {
            continue;
        }
        let bytes = graph.value(value).bytes().unwrap_or(0);
        match graph.producer(value) {
            Some(producer) if inside.contains(&producer) => {}
            None if !has_own_memory => {}
            Some(_) | None => received += bytes,
        }
    }
    received
}

/// Bytes of the values that operators outside the stage read, or that the network returns.
fn sent_bytes(operators: &[OperatorId], inside: &HashSet<OperatorId>, graph: &Graph) -> u64 {
    let outputs = operators.iter().flat_map(|&operator| &graph.operator(operator).outputs);
    let is_sent = |value: &ValueId| {
        graph.outputs().contains(value) || graph.readers(*value).iter().any(|reader| !inside.contains(reader))
    };
    outputs.copied().filter(is_sent).map(|value| graph.value(value).bytes().unwrap_or(0)).sum()
}
