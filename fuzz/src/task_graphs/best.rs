//! The best makespan, by trying every order of nodes on every processor.

use millstream_mapping::{Edge, MappingProblem, ProcessorId, TaskId};

struct Search<'a> {
    problem: &'a MappingProblem,
    /// Nodes of each processor, in order.
    order: Vec<Vec<TaskId>>,
    home: Vec<Option<ProcessorId>>,
    ends: Vec<u64>,
    best: u64,
}

/// The least time until everything is done. Where transfers occupy no processor, times are counted here; else by the
/// problem's own rules.
pub(super) fn makespan(problem: &MappingProblem) -> u64 {
    let processors = problem.processors();
    let pairs: Vec<(ProcessorId, ProcessorId)> =
        processors.clone().flat_map(|from| processors.clone().map(move |to| (from, to))).collect();
    let blocks = problem.edges().iter().any(|edge| pairs.iter().any(|&(from, to)| edge.blocks(from, to).is_some()));
    let mut search = Search {
        problem,
        order: vec![Vec::new(); problem.processor_count()],
        home: vec![None; problem.len()],
        ends: vec![0; problem.len()],
        best: u64::MAX,
    };
    search.visit(0, !blocks);
    search.best
}

impl Search<'_> {
    fn visit(&mut self, placed: usize, counts: bool) {
        if counts && self.ends.iter().max().is_some_and(|&end| end >= self.best) {
            return;
        }
        if placed == self.problem.len() {
            let end = if counts {
                self.ends.iter().copied().max().unwrap_or(0)
            } else {
                self.problem.makespan(&self.order).map_or(u64::MAX, |makespan| makespan.0)
            };
            self.best = self.best.min(end);
            return;
        }
        for node in self.problem.nodes() {
            let own = node.index();
            let is_ready = self.problem.incoming(node).all(|edge| self.home[edge.from.index()].is_some());
            if self.home[own].is_some() || !is_ready {
                continue;
            }
            for processor in self.problem.processors() {
                let Some(time) = self.problem.time(node, processor) else { continue };
                let end = self.start(node, processor) + time.0;
                self.order[processor.index()].push(node);
                (self.home[own], self.ends[own]) = (Some(processor), end);
                self.visit(placed + 1, counts);
                (self.home[own], self.ends[own]) = (None, 0);
                self.order[processor.index()].pop();
            }
        }
    }

    /// When a node begins that comes next on a processor.
    fn start(&self, node: TaskId, processor: ProcessorId) -> u64 {
        let free = self.order[processor.index()].last().map_or(0, |before| self.ends[before.index()]);
        let arrival = |edge: &Edge| {
            let maker = edge.from.index();
            self.home[maker].map_or(0, |home| self.ends[maker] + edge.transfer(home, processor).0)
        };
        self.problem.incoming(node).map(arrival).fold(free, u64::max)
    }
}
