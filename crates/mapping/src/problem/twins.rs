//! Processors that are the same for a problem, so that searches need to try only one of them.

use millstream_schedule::execution::{ProcessorId, TaskId};

use crate::problem::MappingProblem;
use crate::problem::edge::Edge;

impl MappingProblem {
    /// For each processor, the first one that is the same in all respects: they may be exchanged for each other.
    pub fn twins(&self) -> Vec<ProcessorId> {
        let first_twin = |processor: ProcessorId| {
            let mut before = ProcessorId::all(processor.index());
            before.find(|&first| self.are_twins(first, processor)).unwrap_or(processor)
        };
        self.processors().map(first_twin).collect()
    }

    fn are_twins(&self, left: ProcessorId, right: ProcessorId) -> bool {
        let is_same_for = |node: TaskId| {
            self.time(node, left) == self.time(node, right) && self.release(node, left) == self.release(node, right)
        };
        let swap = |processor: ProcessorId| match processor {
            processor if processor == left => right,
            processor if processor == right => left,
            other => other,
        };
        let is_same_over = |edge: &Edge| {
            edge.pairs().all(|(from, to)| {
                edge.transfer(from, to) == edge.transfer(swap(from), swap(to))
                    && edge.blocks(from, to) == edge.blocks(swap(from), swap(to))
            })
        };
        self.nodes().all(is_same_for) && self.edges().iter().all(is_same_over)
    }
}
