//! The memories that accelerators have to themselves.

use std::collections::HashMap;

use millstream_board::Board;
use millstream_graph::Graph;
use millstream_schedule::{Replica, held_bytes};

/// Bytes of memory by accelerator label, where they are known.
#[derive(Debug, Clone, Default)]
pub(crate) struct MemoryLimits(HashMap<String, u64>);

impl MemoryLimits {
    pub(crate) fn of(board: &Board) -> Self {
        let limits = board.accelerators().iter();
        Self(limits.filter_map(|accelerator| Some((accelerator.label.clone(), accelerator.memory_bytes?))).collect())
    }

    pub(crate) fn are_none(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn of_label(&self, label: &str) -> Option<u64> {
        self.0.get(label).copied()
    }

    /// Whether everything that a replica's accelerators hold fits.
    pub(crate) fn allow(&self, replica: &Replica, graph: &Graph) -> bool {
        replica.assignments.iter().all(|assignment| {
            let limit = self.of_label(&assignment.processor.cluster);
            limit.is_none_or(|limit| held_bytes(graph, &assignment.operators) <= limit)
        })
    }
}
