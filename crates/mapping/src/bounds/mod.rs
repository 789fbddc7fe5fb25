//! What no mapping can beat.

pub(crate) mod load;

use millstream_cost::Nanoseconds;
use millstream_schedule::execution::{ProcessorId, TaskId};

use crate::problem::MappingProblem;

/// Earliest starts and shortest remaining times of nodes. At first those of paths alone, as if every processor could do
/// everything at once; what else is known is put in by [`PathBounds::raise_start`] and [`PathBounds::raise_tail`].
#[derive(Debug, Clone)]
pub(crate) struct PathBounds {
    processor_count: usize,
    /// Earliest start of a node on a processor; row per node.
    starts: Vec<Nanoseconds>,
    /// Least time from the end of a node on a processor until everything after it is done; row per node.
    tails: Vec<Nanoseconds>,
    /// Earliest start of each node on any processor.
    pub(crate) heads: Vec<Nanoseconds>,
    /// Least time after each node's end on any processor.
    pub(crate) least_tails: Vec<Nanoseconds>,
    /// The longest path.
    pub(crate) critical: Nanoseconds,
}

impl PathBounds {
    pub(crate) fn new(problem: &MappingProblem) -> Self {
        let (count, processor_count) = (problem.len(), problem.processor_count());
        let mut bounds = Self {
            processor_count,
            starts: vec![Nanoseconds::ZERO; count * processor_count],
            tails: vec![Nanoseconds::ZERO; count * processor_count],
            heads: vec![Nanoseconds::ZERO; count],
            least_tails: vec![Nanoseconds::ZERO; count],
            critical: Nanoseconds::ZERO,
        };
        bounds.propagate(problem);
        bounds
    }

    /// Carries what is known of nodes along all paths.
    pub(crate) fn propagate(&mut self, problem: &MappingProblem) {
        for node in problem.nodes() {
            for processor in problem.supporting(node) {
                let arrivals = problem.incoming(node).filter_map(|edge| {
                    let makers = problem.supporting(edge.from);
                    makers.map(|maker| self.end(problem, edge.from, maker) + edge.transfer(maker, processor)).min()
                });
                let start = arrivals.fold(problem.release(node, processor), Nanoseconds::max);
                self.raise_start(node, processor, start);
            }
            self.heads[node.index()] =
                problem.supporting(node).map(|processor| self.start(node, processor)).min().unwrap_or_default();
        }

        for node in problem.nodes().rev() {
            for processor in problem.supporting(node) {
                let rests = problem.outgoing(node).filter_map(|edge| {
                    let readers = problem.supporting(edge.to);
                    let rest = |reader: ProcessorId| {
                        let time = problem.time(edge.to, reader).unwrap_or_default();
                        edge.transfer(processor, reader) + time + self.tail(edge.to, reader)
                    };
                    readers.map(rest).min()
                });
                let tail = rests.fold(Nanoseconds::ZERO, Nanoseconds::max);
                self.raise_tail(node, processor, tail);
            }
            self.least_tails[node.index()] =
                problem.supporting(node).map(|processor| self.tail(node, processor)).min().unwrap_or_default();
            let through = problem.supporting(node).map(|processor| self.through(problem, node, processor)).min();
            self.critical = self.critical.max(through.unwrap_or_default());
        }
    }

    /// Where a table with a row per node has what is true of a node on a processor.
    fn cell(&self, node: TaskId, processor: ProcessorId) -> usize {
        node.index() * self.processor_count + processor.index()
    }

    /// Puts in that a node does not start earlier on a processor.
    pub(crate) fn raise_start(&mut self, node: TaskId, processor: ProcessorId, start: Nanoseconds) {
        let cell = self.cell(node, processor);
        self.starts[cell] = self.starts[cell].max(start);
    }

    /// Puts in that no less time passes after a node's end on a processor.
    pub(crate) fn raise_tail(&mut self, node: TaskId, processor: ProcessorId, tail: Nanoseconds) {
        let cell = self.cell(node, processor);
        self.tails[cell] = self.tails[cell].max(tail);
    }

    /// Earliest start of a node on a processor.
    pub(crate) fn start(&self, node: TaskId, processor: ProcessorId) -> Nanoseconds {
        self.starts[self.cell(node, processor)]
    }

    /// Earliest end of a node on a processor that supports it.
    pub(crate) fn end(&self, problem: &MappingProblem, node: TaskId, processor: ProcessorId) -> Nanoseconds {
        self.start(node, processor) + problem.time(node, processor).unwrap_or_default()
    }

    /// Least time after a node's end on a processor.
    pub(crate) fn tail(&self, node: TaskId, processor: ProcessorId) -> Nanoseconds {
        self.tails[self.cell(node, processor)]
    }

    /// The least makespan with a node on a processor that supports it.
    pub(crate) fn through(&self, problem: &MappingProblem, node: TaskId, processor: ProcessorId) -> Nanoseconds {
        self.end(problem, node, processor) + self.tail(node, processor)
    }
}

/// A quick bound: the longest path, or all work at its fastest, spread evenly.
pub(crate) fn quick_bound(problem: &MappingProblem) -> Nanoseconds {
    let work: Nanoseconds = problem.nodes().map(|node| problem.least_time(node)).sum();
    let spread = Nanoseconds(work.0.div_ceil(problem.processor_count().max(1) as u64));
    PathBounds::new(problem).critical.max(spread)
}
