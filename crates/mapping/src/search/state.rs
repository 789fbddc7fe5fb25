//! What a local search changes: where nodes run, and which go first.

use millstream_cost::Nanoseconds;
use millstream_schedule::execution::{Execution, ProcessorId, TaskId};

use crate::mapper::mapping::placement_of;
use crate::problem::MappingProblem;
use crate::problem::edge::Edge;
use crate::problem::node_range::NodeRange;
use crate::published::lists::Ranks;

/// A solution as the search sees it: lists are scheduled by priority, every node on its processor.
pub(crate) struct State<'a> {
    pub(crate) problem: &'a MappingProblem,
    pub(crate) placement: Vec<ProcessorId>,
    priority: Vec<f64>,
    // Kept from move to move, so that nothing is allocated.
    waiting: Vec<usize>,
    ready: Vec<TaskId>,
    execution: Execution,
    /// The last node of each processor so far, and for each node the one before it on its processor.
    last: Vec<Option<TaskId>>,
    before: Vec<Option<TaskId>>,
    /// On a chain of nodes that wait for each other, up to the one that ends last: those that wait for their processor,
    /// after the one that it does before. Of the last accepted state.
    pub(crate) critical: Vec<(TaskId, TaskId)>,
}

impl<'a> State<'a> {
    pub(crate) fn new(problem: &'a MappingProblem, start: &[Vec<TaskId>]) -> Self {
        let placement = placement_of(problem.len(), start);
        // The start's own order, as far as lists by priority can express it.
        let priority = match problem.execute(start) {
            Some(execution) => problem.nodes().map(|node| -(execution.span(node).start.0 as f64)).collect(),
            None => Ranks::new(problem).up,
        };
        Self {
            problem,
            placement,
            priority,
            waiting: Vec::with_capacity(problem.len()),
            ready: Vec::with_capacity(problem.len()),
            execution: Execution::new(problem),
            last: vec![None; problem.processor_count()],
            before: vec![None; problem.len()],
            critical: Vec::new(),
        }
    }

    /// Finds what the makespan depends on, as long as nothing else has been evaluated since.
    pub(crate) fn find_critical(&mut self, nodes: NodeRange) {
        let Self { problem, execution, .. } = self;
        self.critical.clear();
        let mut next = problem.nodes().max_by_key(|&node| (execution.span(node).end, node));
        while let Some(node) = next {
            let start = execution.span(node).start;
            let end = |other: TaskId| execution.span(other).end;
            let processor = self.placement[node.index()];
            let arrival = |edge: &Edge| end(edge.from) + edge.transfer(self.placement[edge.from.index()], processor);
            let maker = problem.incoming(node).find(|&edge| arrival(edge) == start).map(|edge| edge.from);
            // Where transfers occupy the processor, it may be busy after the node before.
            let before = self.before[node.index()].filter(|&before| end(before) == start || maker.is_none());
            let is_movable = |&before: &TaskId| nodes.contains(node) && nodes.contains(before);
            self.critical.extend(before.filter(is_movable).map(|before| (before, node)));
            next = before.or(maker);
        }
    }

    /// The makespan; nodes are passed to `visit` in the order in which they are scheduled.
    pub(crate) fn evaluate(&mut self, mut visit: impl FnMut(TaskId, ProcessorId)) -> Nanoseconds {
        let problem = self.problem;
        self.waiting.clear();
        self.waiting.extend(problem.nodes().map(|node| problem.incoming(node).len()));
        self.ready.clear();
        self.ready.extend(problem.nodes().filter(|node| self.waiting[node.index()] == 0));
        self.execution.reset();
        self.last.fill(None);
        let mut makespan = Nanoseconds::ZERO;
        while let Some(index) = (0..self.ready.len()).max_by(|&left, &right| {
            let (left, right) = (self.ready[left], self.ready[right]);
            self.priority[left.index()].total_cmp(&self.priority[right.index()]).then(right.cmp(&left))
        }) {
            let node = self.ready.swap_remove(index);
            let processor = self.placement[node.index()];
            makespan = makespan.max(self.execution.run(problem, node, &self.placement).end);
            self.before[node.index()] = self.last[processor.index()].replace(node);
            visit(node, processor);
            for edge in problem.outgoing(node) {
                self.waiting[edge.to.index()] -= 1;
                if self.waiting[edge.to.index()] == 0 {
                    self.ready.push(edge.to);
                }
            }
        }
        makespan
    }

    pub(crate) fn order(&mut self) -> Vec<Vec<TaskId>> {
        let mut order = vec![Vec::new(); self.problem.processor_count()];
        self.evaluate(|node, processor| order[processor.index()].push(node));
        order
    }

    pub(crate) fn priority(&self, node: TaskId) -> f64 {
        self.priority[node.index()]
    }

    /// Puts a node elsewhere; returns where it was.
    pub(crate) fn put(&mut self, node: TaskId, processor: ProcessorId) -> ProcessorId {
        std::mem::replace(&mut self.placement[node.index()], processor)
    }

    /// Gives a node another priority; returns the one that it had.
    pub(crate) fn prioritise(&mut self, node: TaskId, priority: f64) -> f64 {
        std::mem::replace(&mut self.priority[node.index()], priority)
    }

    /// Exchanges the priorities of two nodes.
    pub(crate) fn swap(&mut self, left: TaskId, right: TaskId) -> Undo {
        self.priority.swap(left.index(), right.index());
        Undo::Swap(left, right)
    }

    pub(crate) fn take_back(&mut self, undo: Undo) {
        match undo {
            Undo::Placement(old) => old.into_iter().for_each(|(node, processor)| {
                self.put(node, processor);
            }),
            Undo::Priority(node, old) => {
                self.prioritise(node, old);
            }
            Undo::Swap(left, right) => {
                self.swap(left, right);
            }
        }
    }
}

/// What a move changed, so that it can be taken back.
pub(crate) enum Undo {
    Placement(Vec<(TaskId, ProcessorId)>),
    Priority(TaskId, f64),
    Swap(TaskId, TaskId),
}
