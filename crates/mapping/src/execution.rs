//! The rules by which nodes run, in one place for everything that evaluates mappings.

use millstream_cost::BlockedEnd;

use crate::Problem;

/// Nodes run so far, and when their values are where.
#[derive(Debug, Clone)]
pub(crate) struct Execution {
    pub(crate) starts: Vec<u64>,
    pub(crate) ends: Vec<u64>,
    /// When each processor is done with its nodes and transfers.
    pub(crate) free: Vec<u64>,
    /// When the value of an edge is on another processor, as far as a sender or a receiver has seen to it; row per node.
    delivered: Vec<Vec<(usize, usize, u64)>>,
    has_blocking: bool,
}

impl Execution {
    pub(crate) fn new(problem: &Problem) -> Self {
        Self {
            starts: vec![0; problem.len()],
            ends: vec![0; problem.len()],
            free: vec![0; problem.processors()],
            delivered: vec![Vec::new(); problem.len()],
            has_blocking: problem.edges().iter().any(crate::Edge::is_blocking),
        }
    }

    /// Forgets everything.
    pub(crate) fn reset(&mut self) {
        self.free.fill(0);
        if self.has_blocking {
            self.delivered.iter_mut().for_each(Vec::clear);
        }
    }

    /// Runs a node whose inputs are made, on its processor; `home` tells every node's processor. Returns its end.
    pub(crate) fn run(&mut self, problem: &Problem, node: usize, home: &[usize]) -> u64 {
        let place = home[node];
        let mut begin = self.free[place];
        let mut arrival = problem.release(node, place);
        let mut fetched: Vec<(u64, usize, usize, u64)> = Vec::new();
        for edge in problem.incoming(node) {
            let (maker, made) = (home[edge.from], self.ends[edge.from]);
            let time = edge.transfer(maker, place);
            match edge.blocks(maker, place) {
                None => arrival = arrival.max(made + time),
                Some(end) => match self.there(edge.from, edge.value(), place) {
                    Some(there) => arrival = arrival.max(there),
                    None if end == BlockedEnd::Receiver => fetched.push((made, edge.from, edge.value(), time)),
                    None => arrival = arrival.max(made + time),
                },
            }
        }
        // In the order in which they were made.
        fetched.sort_unstable();
        for (made, from, value, time) in fetched {
            begin = begin.max(made) + time;
            self.delivered[from].push((value, place, begin));
        }
        let start = begin.max(arrival);
        let end = start + problem.time(node, place).unwrap_or(u64::MAX / 4);
        (self.starts[node], self.ends[node], self.free[place]) = (start, end, end);
        if self.has_blocking {
            self.send(problem, node, home);
        }
        end
    }

    fn there(&self, node: usize, value: usize, place: usize) -> Option<u64> {
        let known = self.delivered[node].iter().find(|known| known.0 == value && known.1 == place);
        known.map(|known| known.2)
    }

    /// Sends the node's values to whoever reads them, value by value, to one processor after the other.
    fn send(&mut self, problem: &Problem, node: usize, home: &[usize]) {
        let place = home[node];
        let mut wanted: Vec<(usize, usize, u64)> = problem
            .outgoing(node)
            .filter(|edge| edge.blocks(place, home[edge.to]) == Some(BlockedEnd::Sender))
            .map(|edge| (edge.value(), home[edge.to], edge.transfer(place, home[edge.to])))
            .collect();
        wanted.sort_unstable();
        wanted.dedup_by_key(|wanted| (wanted.0, wanted.1));
        for (value, to, time) in wanted {
            self.free[place] += time;
            self.delivered[node].push((value, to, self.free[place]));
        }
    }
}
