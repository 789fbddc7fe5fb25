//! A mapping: where and in which order the nodes of a problem run.

use millstream_cost::Nanoseconds;
use millstream_schedule::execution::{ProcessorId, TaskId};

use crate::mapper::outcome::Outcome;

/// Where and in which order nodes run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    /// Processor of each node.
    pub placement: Vec<ProcessorId>,
    /// Nodes of each processor, in the order in which it runs them.
    pub order: Vec<Vec<TaskId>>,
    /// Time until everything is done, by the [rules of execution](millstream_schedule::execution).
    pub makespan: Nanoseconds,
    /// No mapping is shorter than this.
    pub lower_bound: Nanoseconds,
    /// Why the mapper stopped.
    pub outcome: Outcome,
    /// Steps that it took; where threads worked at the same time, those of the one that took most.
    pub steps: u64,
}

/// The processor of each of so many nodes, from the nodes of each processor.
pub(crate) fn placement_of(node_count: usize, order: &[Vec<TaskId>]) -> Vec<ProcessorId> {
    let mut placement = vec![ProcessorId::new(0); node_count];
    for (processor, nodes) in ProcessorId::all(order.len()).zip(order) {
        nodes.iter().for_each(|node| placement[node.index()] = processor);
    }
    placement
}

impl Mapping {
    /// The processor of a node.
    pub fn processor_of(&self, node: TaskId) -> ProcessorId {
        self.placement[node.index()]
    }

    /// How much longer this may be than the best, relative to the lower bound.
    pub fn gap(&self) -> f64 {
        (self.makespan - self.lower_bound).0 as f64 / self.lower_bound.0.max(1) as f64
    }
}
