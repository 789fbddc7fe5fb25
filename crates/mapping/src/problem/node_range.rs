//! A range of consecutive nodes of a problem.

use std::ops::Range;

use millstream_schedule::execution::TaskId;

use crate::problem::MappingProblem;

/// Nodes that follow each other in a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NodeRange {
    first: TaskId,
    len: usize,
}

impl NodeRange {
    /// No nodes.
    pub(crate) const NONE: Self = Self { first: TaskId::new(0), len: 0 };

    /// All nodes of a problem.
    pub(crate) fn all(problem: &MappingProblem) -> Self {
        Self { first: TaskId::new(0), len: problem.len() }
    }

    /// The nodes after one, or from the first on, up to another, which is among them.
    pub(crate) fn between(after: Option<TaskId>, last: TaskId) -> Self {
        let first = TaskId::new(after.map_or(0, |node| node.index() + 1));
        Self { first, len: (last.index() + 1).saturating_sub(first.index()) }
    }

    /// How many nodes there are.
    pub(crate) fn len(self) -> usize {
        self.len
    }

    pub(crate) fn contains(self, node: TaskId) -> bool {
        self.indices().contains(&node.index())
    }

    pub(crate) fn nodes(self) -> impl Iterator<Item = TaskId> {
        self.indices().map(TaskId::new)
    }

    /// Numbers of the nodes, to draw one from.
    pub(crate) fn indices(self) -> Range<usize> {
        self.first.index()..self.first.index() + self.len
    }
}
