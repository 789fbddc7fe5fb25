//! The orders in which processors run their nodes, with the longest paths through them: a selection of the disjunctive
//! graph of a job shop.

use millstream_cost::Nanoseconds;
use millstream_schedule::execution::{ProcessorId, TaskId};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use crate::problem::MappingProblem;
use crate::problem::edge::Edge;
use crate::problem::node_range::NodeRange;

/// Exchanges at random with which a search sets out anew.
const KICKS: usize = 12;

/// Two nodes that a processor runs one right after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Neighbours {
    pub(crate) first: TaskId,
    pub(crate) second: TaskId,
}

impl Neighbours {
    /// The two once they are exchanged.
    pub(crate) fn exchanged(self) -> Self {
        Self { first: self.second, second: self.first }
    }
}

/// Neighbours on one longest path that may be exchanged.
#[derive(Default)]
pub(crate) struct LongestPath {
    /// All of them. Without one, no order has a shorter path: what is left is due to dependencies.
    pub(crate) exchanges: Vec<Neighbours>,
    /// Those at the ends of blocks, which are nodes that one processor does one after the other.
    pub(crate) at_block_ends: Vec<Neighbours>,
}

/// A dependency, seen from one of its ends.
#[derive(Debug, Clone, Copy)]
struct DependencyArc {
    /// The node at the other end.
    node: TaskId,
    /// Time of the transfer.
    lag: Nanoseconds,
}

/// Where a node is among the orders.
#[derive(Debug, Clone, Copy)]
struct Position {
    processor: ProcessorId,
    /// Its place among the processor's nodes.
    index: usize,
}

/// The orders of all processors, and the longest paths from and to each node. What is kept for each node is at its
/// number.
pub(crate) struct ProcessorOrders<'a> {
    problem: &'a MappingProblem,
    times: Vec<Nanoseconds>,
    releases: Vec<Nanoseconds>,
    /// What each node waits for.
    before: Vec<Vec<DependencyArc>>,
    /// What waits for each node.
    after: Vec<Vec<DependencyArc>>,
    /// The nodes of each processor.
    order: Vec<Vec<TaskId>>,
    positions: Vec<Position>,
    /// When each node starts.
    heads: Vec<Nanoseconds>,
    /// The longest path after each node's end.
    tails: Vec<Nanoseconds>,
    /// Nodes in an order in which they can run.
    sequence: Vec<TaskId>,
    /// For how many nodes each still waits.
    waiting: Vec<usize>,
}

impl<'a> ProcessorOrders<'a> {
    /// The given orders, which have not been evaluated, of a problem in which every node has its one processor.
    pub(crate) fn new(problem: &'a MappingProblem, order: &[Vec<TaskId>]) -> Self {
        let processor_of = |node: TaskId| problem.supporting(node).next();
        let lag = |edge: &Edge| {
            let ends = processor_of(edge.from).zip(processor_of(edge.to));
            ends.map_or(Nanoseconds::ZERO, |(from, to)| edge.transfer(from, to))
        };
        let time =
            |node: TaskId| processor_of(node).and_then(|processor| problem.time(node, processor)).unwrap_or_default();
        let release =
            |node: TaskId| processor_of(node).map_or(Nanoseconds::ZERO, |processor| problem.release(node, processor));
        let before = |node: TaskId| {
            problem.incoming(node).map(|edge| DependencyArc { node: edge.from, lag: lag(edge) }).collect()
        };
        let after =
            |node: TaskId| problem.outgoing(node).map(|edge| DependencyArc { node: edge.to, lag: lag(edge) }).collect();

        let count = problem.len();
        let mut orders = Self {
            problem,
            times: problem.nodes().map(time).collect(),
            releases: problem.nodes().map(release).collect(),
            before: problem.nodes().map(before).collect(),
            after: problem.nodes().map(after).collect(),
            order: Vec::new(),
            positions: vec![Position { processor: ProcessorId::new(0), index: 0 }; count],
            heads: vec![Nanoseconds::ZERO; count],
            tails: vec![Nanoseconds::ZERO; count],
            sequence: Vec::with_capacity(count),
            waiting: vec![0; count],
        };
        orders.set(order);
        orders
    }

    fn set(&mut self, order: &[Vec<TaskId>]) {
        self.order = order.to_vec();
        for (processor, nodes) in ProcessorId::all(order.len()).zip(order) {
            for (index, node) in nodes.iter().enumerate() {
                self.positions[node.index()] = Position { processor, index };
            }
        }
    }

    /// The nodes of each processor, in order.
    pub(crate) fn order(&self) -> &[Vec<TaskId>] {
        &self.order
    }

    /// The node that the processor of another does before it.
    fn previous(&self, node: TaskId) -> Option<TaskId> {
        let Position { processor, index } = self.positions[node.index()];
        self.order[processor.index()].get(index.checked_sub(1)?).copied()
    }

    /// The node that it does next.
    fn next(&self, node: TaskId) -> Option<TaskId> {
        let Position { processor, index } = self.positions[node.index()];
        self.order[processor.index()].get(index + 1).copied()
    }

    fn end(&self, node: TaskId) -> Nanoseconds {
        self.heads[node.index()] + self.times[node.index()]
    }

    /// The longest path from a node's start on.
    fn rest(&self, node: TaskId) -> Nanoseconds {
        self.times[node.index()] + self.tails[node.index()]
    }

    /// The makespan, with all heads and tails; `None` if nodes wait for each other in a circle.
    pub(crate) fn evaluate(&mut self) -> Option<Nanoseconds> {
        let makespan = self.find_heads()?;
        self.find_tails();
        Some(makespan)
    }

    fn find_heads(&mut self) -> Option<Nanoseconds> {
        self.sequence.clear();
        for node in self.problem.nodes() {
            let waiting = self.before[node.index()].len() + usize::from(self.positions[node.index()].index > 0);
            self.waiting[node.index()] = waiting;
            if waiting == 0 {
                self.sequence.push(node);
            }
        }

        self.heads.copy_from_slice(&self.releases);
        let (mut done, mut makespan) = (0, Nanoseconds::ZERO);
        while let Some(&node) = self.sequence.get(done) {
            done += 1;
            let end = self.end(node);
            makespan = makespan.max(end);
            let next = self.next(node).map(|node| DependencyArc { node, lag: Nanoseconds::ZERO });
            for &DependencyArc { node: other, lag } in self.after[node.index()].iter().chain(&next) {
                self.heads[other.index()] = self.heads[other.index()].max(end + lag);
                self.waiting[other.index()] -= 1;
                if self.waiting[other.index()] == 0 {
                    self.sequence.push(other);
                }
            }
        }
        (done == self.problem.len()).then_some(makespan)
    }

    fn find_tails(&mut self) {
        for &node in self.sequence.iter().rev() {
            let next = self.next(node).map(|node| DependencyArc { node, lag: Nanoseconds::ZERO });
            let after = self.after[node.index()].iter().chain(&next);
            self.tails[node.index()] = after.map(|arc| arc.lag + self.rest(arc.node)).max().unwrap_or_default();
        }
    }

    /// What can be exchanged among some nodes on a longest path, one of several at random.
    pub(crate) fn longest_path(&self, makespan: Nanoseconds, nodes: NodeRange, random: &mut ChaCha8Rng) -> LongestPath {
        let mut path = LongestPath::default();
        let last: Vec<TaskId> = self.problem.nodes().filter(|&node| self.end(node) == makespan).collect();
        let mut node = last[random.random_range(0..last.len())];
        // The pairs of the block at hand, the last one first.
        let mut block: Vec<Neighbours> = Vec::new();
        let mut close = |block: &mut Vec<Neighbours>| {
            path.at_block_ends.extend(block.first());
            path.at_block_ends.extend(block.last().filter(|_| block.len() > 1));
            path.exchanges.append(block);
        };

        loop {
            let start = self.heads[node.index()];
            let previous = self.previous(node).filter(|&previous| self.end(previous) == start);
            let maker = self.before[node.index()].iter().find(|maker| self.end(maker.node) + maker.lag == start);
            match (previous, maker) {
                (Some(previous), maker) if maker.is_none() || random.random::<bool>() => {
                    block.push(Neighbours { first: previous, second: node });
                    node = previous;
                }
                (_, Some(maker)) => {
                    close(&mut block);
                    node = maker.node;
                }
                (_, None) => break,
            }
        }
        close(&mut block);

        let is_free = |&Neighbours { first, second }: &Neighbours| {
            let depends = self.before[second.index()].iter().any(|maker| maker.node == first);
            nodes.contains(first) && nodes.contains(second) && !depends
        };
        path.exchanges.retain(is_free);
        path.at_block_ends.retain(is_free);
        path
    }

    /// About the longest path through one of two neighbours once they are exchanged; never more than the makespan then.
    pub(crate) fn estimate(&self, Neighbours { first, second }: Neighbours) -> Nanoseconds {
        let inputs = |node: TaskId| {
            let arrivals = self.before[node.index()].iter().map(|maker| self.end(maker.node) + maker.lag);
            arrivals.max().unwrap_or_default().max(self.releases[node.index()])
        };
        let readers = |node: TaskId| {
            let rests = self.after[node.index()].iter().map(|arc| arc.lag + self.rest(arc.node));
            rests.max().unwrap_or_default()
        };
        let previous = self.previous(first).map_or(Nanoseconds::ZERO, |previous| self.end(previous));
        let next = self.next(second).map_or(Nanoseconds::ZERO, |next| self.rest(next));

        let (time, second_time) = (self.times[first.index()], self.times[second.index()]);
        let second_head = inputs(second).max(previous);
        let head = inputs(first).max(second_head + second_time);
        let tail = readers(first).max(next);
        let second_tail = readers(second).max(time + tail);
        (second_head + second_time + second_tail).max(head + time + tail)
    }

    /// Exchanges two neighbours, and returns the makespan. `None`, and nothing has changed, if nodes would wait for
    /// each other in a circle: nodes that take no time may.
    pub(crate) fn try_exchange(&mut self, pair: Neighbours) -> Option<Nanoseconds> {
        self.exchange(pair);
        let makespan = self.evaluate();
        if makespan.is_none() {
            self.exchange(pair.exchanged());
            self.evaluate();
        }
        makespan
    }

    fn exchange(&mut self, Neighbours { first, second }: Neighbours) {
        self.positions.swap(first.index(), second.index());
        for node in [first, second] {
            let Position { processor, index } = self.positions[node.index()];
            self.order[processor.index()][index] = node;
        }
    }

    /// Goes to some order near another one; returns its makespan. Exchanges within blocks make nothing shorter by
    /// themselves, but without them some orders, maybe all the best ones, are out of reach.
    pub(crate) fn restart(&mut self, near: &[Vec<TaskId>], nodes: NodeRange, random: &mut ChaCha8Rng) -> Nanoseconds {
        self.set(near);
        let mut makespan = self.evaluate().unwrap_or_default();
        for _ in 0..KICKS {
            let exchanges = self.longest_path(makespan, nodes, random).exchanges;
            if exchanges.is_empty() {
                break;
            }
            let pair = exchanges[random.random_range(0..exchanges.len())];
            makespan = self.try_exchange(pair).unwrap_or(makespan);
        }
        makespan
    }

    /// The longest path through a node.
    #[cfg(test)]
    pub(crate) fn through(&self, node: TaskId) -> Nanoseconds {
        self.heads[node.index()] + self.rest(node)
    }
}
