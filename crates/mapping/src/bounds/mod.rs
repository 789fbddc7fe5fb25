//! What no mapping can beat.

pub(crate) mod load;

use millstream_schedule::execution::{ProcessorId, TaskId};

use crate::problem::MappingProblem;

/// Earliest starts and shortest remaining times of nodes. At first those of paths alone, as if every processor could do
/// everything at once; what else is known is put in by [`PathBounds::raise_start`] and [`PathBounds::raise_tail`].
#[derive(Debug, Clone)]
pub(crate) struct PathBounds {
    processor_count: usize,
    /// Earliest start of a node on a processor; row per node.
    starts: Vec<u64>,
    /// Least time from the end of a node on a processor until everything after it is done; row per node.
    tails: Vec<u64>,
    /// Earliest start of each node on any processor.
    pub(crate) heads: Vec<u64>,
    /// Least time after each node's end on any processor.
    pub(crate) least_tails: Vec<u64>,
    /// The longest path.
    pub(crate) critical: u64,
}

impl PathBounds {
    pub(crate) fn new(problem: &MappingProblem) -> Self {
        let (count, processor_count) = (problem.len(), problem.processor_count());
        let mut bounds = Self {
            processor_count,
            starts: vec![0; count * processor_count],
            tails: vec![0; count * processor_count],
            heads: vec![0; count],
            least_tails: vec![0; count],
            critical: 0,
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
                    makers.map(|maker| self.end(problem, edge.from, maker) + edge.raw_transfer(maker, processor)).min()
                });
                let start = arrivals.fold(problem.raw_release(node, processor), u64::max);
                self.raise_start(node, processor, start);
            }
            self.heads[node.index()] =
                problem.supporting(node).map(|processor| self.start(node, processor)).min().unwrap_or(0);
        }

        for node in problem.nodes().rev() {
            for processor in problem.supporting(node) {
                let rests = problem.outgoing(node).filter_map(|edge| {
                    let readers = problem.supporting(edge.to);
                    let rest = |reader: ProcessorId| {
                        let time = problem.raw_time(edge.to, reader).unwrap_or(0);
                        edge.raw_transfer(processor, reader) + time + self.tail(edge.to, reader)
                    };
                    readers.map(rest).min()
                });
                let tail = rests.fold(0, u64::max);
                self.raise_tail(node, processor, tail);
            }
            self.least_tails[node.index()] =
                problem.supporting(node).map(|processor| self.tail(node, processor)).min().unwrap_or(0);
            let through = problem.supporting(node).map(|processor| self.through(problem, node, processor)).min();
            self.critical = self.critical.max(through.unwrap_or(0));
        }
    }

    /// Where a table with a row per node has what is true of a node on a processor.
    fn cell(&self, node: TaskId, processor: ProcessorId) -> usize {
        node.index() * self.processor_count + processor.index()
    }

    /// Puts in that a node does not start earlier on a processor.
    pub(crate) fn raise_start(&mut self, node: TaskId, processor: ProcessorId, start: u64) {
        let cell = self.cell(node, processor);
        self.starts[cell] = self.starts[cell].max(start);
    }

    /// Puts in that no less time passes after a node's end on a processor.
    pub(crate) fn raise_tail(&mut self, node: TaskId, processor: ProcessorId, tail: u64) {
        let cell = self.cell(node, processor);
        self.tails[cell] = self.tails[cell].max(tail);
    }

    /// Earliest start of a node on a processor.
    pub(crate) fn start(&self, node: TaskId, processor: ProcessorId) -> u64 {
        self.starts[self.cell(node, processor)]
    }

    /// Earliest end of a node on a processor that supports it.
    pub(crate) fn end(&self, problem: &MappingProblem, node: TaskId, processor: ProcessorId) -> u64 {
        self.start(node, processor) + problem.raw_time(node, processor).unwrap_or(0)
    }

    /// Least time after a node's end on a processor.
    pub(crate) fn tail(&self, node: TaskId, processor: ProcessorId) -> u64 {
        self.tails[self.cell(node, processor)]
    }

    /// The least makespan with a node on a processor that supports it.
    pub(crate) fn through(&self, problem: &MappingProblem, node: TaskId, processor: ProcessorId) -> u64 {
        self.end(problem, node, processor) + self.tail(node, processor)
    }
}

/// A quick bound: the longest path, or all work at its fastest, spread evenly.
pub(crate) fn quick_bound(problem: &MappingProblem) -> u64 {
    let work: u64 = problem.nodes().map(|node| problem.raw_least_time(node)).sum();
    let spread = work.div_ceil(problem.processor_count().max(1) as u64);
    PathBounds::new(problem).critical.max(spread)
}
