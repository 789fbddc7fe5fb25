//! What fits into the memory of a processor that has its own.

use std::collections::HashMap;

use millstream_board::Board;
use millstream_graph::{Graph, OperatorId};
use millstream_schedule::Replica;

/// Bytes of memory by accelerator label, where they are known.
#[derive(Debug, Clone, Default)]
pub(crate) struct MemoryLimits(HashMap<String, u64>);

impl MemoryLimits {
    pub(crate) fn of(board: &Board) -> Self {
        let limits = board.accelerators().iter();
        Self(limits.filter_map(|own| Some((own.label.clone(), own.memory_bytes?))).collect())
    }

    pub(crate) fn of_label(&self, label: &str) -> Option<u64> {
        self.0.get(label).copied()
    }

    /// Whether everything that a replica's accelerators hold fits.
    pub(crate) fn allow(&self, replica: &Replica, graph: &Graph) -> bool {
        replica.assignments.iter().all(|assignment| {
            let needed = || assignment.operators.iter().map(|&id| held(graph, id)).sum::<u64>();
            self.of_label(&assignment.processor.cluster).is_none_or(|limit| needed() <= limit)
        })
    }
}

/// Bytes that an operator holds: its weights, and the values that it makes, which have buffers of their own.
pub(crate) fn held(graph: &Graph, id: OperatorId) -> u64 {
    let work = graph.operator(id).work;
    work.weight_bytes + work.output_bytes
}
