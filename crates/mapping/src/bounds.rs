//! What no mapping can beat.

use crate::MappingProblem;

/// Earliest ends and shortest remaining times of nodes, as if every processor could do everything at once.
#[derive(Debug, Clone)]
pub(crate) struct PathBounds {
    processors: usize,
    /// Earliest end of a node on a processor; row per node. `u64::MAX` where the processor can't run it.
    ends: Vec<u64>,
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
        let (count, processors) = (problem.len(), problem.processors());
        let mut bounds = Self {
            processors,
            ends: vec![u64::MAX; count * processors],
            tails: vec![0; count * processors],
            heads: vec![0; count],
            least_tails: vec![0; count],
            critical: 0,
        };
        for node in 0..count {
            let mut head = u64::MAX;
            for processor in problem.supporting(node) {
                let mut start = problem.release(node, processor);
                for edge in problem.incoming(node) {
                    let arrival = problem
                        .supporting(edge.from)
                        .map(|maker| bounds.end(edge.from, maker) + edge.transfer(maker, processor))
                        .min();
                    start = start.max(arrival.unwrap_or(0));
                }
                bounds.ends[node * processors + processor] = start + problem.time(node, processor).unwrap_or(0);
                head = head.min(start);
            }
            bounds.heads[node] = head;
        }
        for node in (0..count).rev() {
            let mut least = u64::MAX;
            let mut through = u64::MAX;
            for processor in problem.supporting(node) {
                let mut tail = 0;
                for edge in problem.outgoing(node) {
                    let rest = problem.supporting(edge.to).map(|reader| {
                        edge.transfer(processor, reader)
                            + problem.time(edge.to, reader).unwrap_or(0)
                            + bounds.tail(edge.to, reader)
                    });
                    tail = tail.max(rest.min().unwrap_or(0));
                }
                bounds.tails[node * processors + processor] = tail;
                least = least.min(tail);
                through = through.min(bounds.end(node, processor) + tail);
            }
            bounds.least_tails[node] = least;
            bounds.critical = bounds.critical.max(through);
        }
        bounds
    }

    /// Earliest end of a node on a processor that supports it.
    pub(crate) fn end(&self, node: usize, processor: usize) -> u64 {
        self.ends[node * self.processors + processor]
    }

    /// Least time after a node's end on a processor.
    pub(crate) fn tail(&self, node: usize, processor: usize) -> u64 {
        self.tails[node * self.processors + processor]
    }
}

/// A quick bound: the longest path, or all work at its fastest, spread evenly.
pub(crate) fn quick(problem: &MappingProblem) -> u64 {
    let work: u64 = (0..problem.len()).map(|node| problem.least_time(node)).sum();
    let spread = work.div_ceil(problem.processors().max(1) as u64);
    PathBounds::new(problem).critical.max(spread)
}
