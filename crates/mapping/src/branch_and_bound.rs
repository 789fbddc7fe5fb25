//! Exact search over all ways to start nodes one after the other.

use std::collections::HashMap;

use millstream_cost::BlockedEnd;

use crate::Problem;
use crate::bounds::PathBounds;
use crate::local_search::Found;
use crate::mapping::Clock;

/// Sets of nodes are bits of a word.
pub(crate) const MOST_NODES: usize = 128;
/// Between two looks at the clock.
const STEPS_PER_LOOK: u64 = 4096;
/// Remembered states; more would fill the memory of a small board.
const MOST_STATES: usize = 2_000_000;

/// Searches for something shorter than `found`. Returns whether it looked at everything: then `found` is the optimum.
///
/// Nodes are started in the order of time, each on one of its processors as soon as that is free and the inputs are there,
/// but not before the node that was started last; every mapping under the execution semantics is met this way. A state is
/// left if it can't lead to anything shorter, or if one with the same nodes done was at least as good in all that matters for
/// the rest: whatever follows the one can then follow the other, no later.
pub(crate) fn search(problem: &Problem, found: &mut Found, most_steps: u64, clock: &Clock<'_>) -> bool {
    let has_blocking = problem.edges().iter().any(crate::Edge::is_blocking);
    // Who gets which value is decided per node, so nodes with several values are too much where sending costs time.
    let has_several_values = |node: usize| {
        let mut values = problem.outgoing(node).map(crate::Edge::value);
        let first = values.next();
        values.any(|value| Some(value) != first)
    };
    if problem.len() > MOST_NODES || has_blocking && (0..problem.len()).any(has_several_values) {
        return false;
    }
    let mut search = Search {
        problem,
        bounds: PathBounds::new(problem),
        twins: if has_blocking { (0..problem.processors()).collect() } else { problem.twins() },
        has_blocking,
        there: vec![vec![None; problem.processors()]; if has_blocking { problem.len() } else { 0 }],
        slowest_transfer: (0..problem.len()).map(|node| slowest_transfer(problem, node)).collect(),
        least: (0..problem.len()).map(|node| problem.least_time(node)).collect(),
        found,
        placed: 0,
        home: vec![usize::MAX; problem.len()],
        ends: vec![0; problem.len()],
        free: vec![0; problem.processors()],
        is_used: vec![false; problem.processors()],
        waiting: (0..problem.len()).map(|node| problem.incoming(node).len()).collect(),
        order: vec![Vec::new(); problem.processors()],
        left: (0..problem.len()).map(|node| problem.least_time(node)).sum(),
        seen: HashMap::new(),
        remembered: 0,
        steps: 0,
        most_steps,
        clock,
    };
    search.visit(0, 0)
}

fn slowest_transfer(problem: &Problem, node: usize) -> u64 {
    let processors = 0..problem.processors();
    let of_edge = |edge: &crate::Edge| {
        let pairs = processors.clone().flat_map(|from| processors.clone().map(move |to| (from, to)));
        pairs.map(|(from, to)| edge.transfer(from, to)).max().unwrap_or(0)
    };
    problem.outgoing(node).map(of_edge).max().unwrap_or(0)
}

/// Nodes that are done, and where those live that others still wait for.
type Key = (u128, Vec<u8>);

struct Search<'a> {
    problem: &'a Problem,
    has_blocking: bool,
    /// When a node's value is on another processor, as far as a sender or a receiver has seen to it.
    there: Vec<Vec<Option<u64>>>,
    bounds: PathBounds,
    twins: Vec<usize>,
    slowest_transfer: Vec<u64>,
    least: Vec<u64>,
    found: &'a mut Found,
    placed: u128,
    home: Vec<usize>,
    ends: Vec<u64>,
    free: Vec<u64>,
    is_used: Vec<bool>,
    waiting: Vec<usize>,
    order: Vec<Vec<usize>>,
    /// Least time of all that is not placed.
    left: u64,
    /// For each key, what was met: when processors are free, when values are made, and the last start.
    seen: HashMap<Key, Vec<Vec<u64>>>,
    remembered: usize,
    steps: u64,
    most_steps: u64,
    clock: &'a Clock<'a>,
}

impl Search<'_> {
    /// Goes through everything that can follow, with starts at or after `last_start`; `false` if it had to give up.
    fn visit(&mut self, last_start: u64, makespan: u64) -> bool {
        self.steps += 1;
        if self.steps > self.most_steps {
            return false;
        }
        if self.steps.is_multiple_of(STEPS_PER_LOOK) && (self.clock.is_cancelled() || self.clock.left().is_zero()) {
            return false;
        }
        let count = self.problem.len();
        if self.placed.count_ones() as usize == count {
            // Values may have been sent to processors that do not read them after all.
            let makespan = match self.has_blocking {
                true => self.problem.makespan(&self.order).map_or(makespan, |time| time.0.min(makespan)),
                false => makespan,
            };
            if makespan < self.found.makespan {
                *self.found = Found { order: self.order.clone(), makespan };
            }
            return true;
        }
        if self.is_hopeless(last_start) || self.is_dominated(last_start) {
            return true;
        }
        let mut candidates: Vec<(u64, u64, usize, usize)> = Vec::new();
        for node in (0..count).filter(|&node| self.placed >> node & 1 == 0 && self.waiting[node] == 0) {
            for processor in self.problem.supporting(node) {
                // Of processors that are the same and unused, only the first.
                let twin = self.twins[processor];
                let is_copy = !self.is_used[processor]
                    && (twin..processor).any(|other| self.twins[other] == twin && !self.is_used[other]);
                if is_copy {
                    continue;
                }
                let Some(start) = self.start(node, processor).map(|start| start.max(last_start)) else { continue };
                let end = start + self.problem.time(node, processor).unwrap_or(0);
                if end + self.bounds.tail(node, processor) < self.found.makespan {
                    candidates.push((end + self.bounds.tail(node, processor), start, node, processor));
                }
            }
        }
        candidates
            .sort_unstable_by_key(|&(through, start, node, processor)| (start, u64::MAX - through, node, processor));
        for (_, start, node, processor) in candidates {
            for sent in self.recipients(node, processor) {
                if !self.place(node, processor, start, sent, makespan) {
                    return false;
                }
            }
        }
        true
    }

    /// Places a node, goes on from there, and takes it back; `false` if the search had to give up.
    fn place(&mut self, node: usize, processor: usize, start: u64, sent: u32, makespan: u64) -> bool {
        let problem = self.problem;
        let end = start + problem.time(node, processor).unwrap_or(0);
        let (old_free, was_used) = (self.free[processor], self.is_used[processor]);
        let fetched = self.fetch(node, processor);
        self.placed |= 1 << node;
        self.home[node] = processor;
        self.ends[node] = end;
        self.free[processor] = end;
        self.is_used[processor] = true;
        self.order[processor].push(node);
        self.left -= self.least[node];
        for to in (0..problem.processors()).filter(|to| sent >> to & 1 == 1) {
            let time = problem.outgoing(node).next().map_or(0, |edge| edge.transfer(processor, to));
            self.free[processor] += time;
            self.there[node][to] = Some(self.free[processor]);
        }
        problem.outgoing(node).for_each(|edge| self.waiting[edge.to] -= 1);
        let is_complete = self.visit(start, makespan.max(end));
        problem.outgoing(node).for_each(|edge| self.waiting[edge.to] += 1);
        for to in (0..problem.processors()).filter(|to| sent >> to & 1 == 1) {
            self.there[node][to] = None;
        }
        self.left += self.least[node];
        self.order[processor].pop();
        self.is_used[processor] = was_used;
        self.free[processor] = old_free;
        self.home[node] = usize::MAX;
        self.placed &= !(1 << node);
        for maker in fetched {
            self.there[maker][processor] = None;
        }
        is_complete
    }

    /// Every set of processors that the node's value could be sent to, where sending occupies this one.
    fn recipients(&self, node: usize, processor: usize) -> Vec<u32> {
        let mut sets = vec![0];
        if !self.has_blocking {
            return sets;
        }
        for to in 0..self.problem.processors() {
            let is_possible = self.problem.outgoing(node).any(|edge| {
                edge.blocks(processor, to) == Some(BlockedEnd::Sender) && self.problem.time(edge.to, to).is_some()
            });
            if is_possible {
                let with: Vec<u32> = sets.iter().map(|set| set | 1 << to).collect();
                sets.extend(with);
            }
        }
        sets
    }

    /// Values that the node's processor fetches for it, as marks that they are there from now on; returns their makers.
    fn fetch(&mut self, node: usize, processor: usize) -> Vec<usize> {
        let mut makers = Vec::new();
        if self.has_blocking {
            for edge in self.problem.incoming(node) {
                let is_fetched = edge.blocks(self.home[edge.from], processor) == Some(BlockedEnd::Receiver)
                    && self.there[edge.from][processor].is_none();
                if is_fetched {
                    // It is there before the node starts, and whoever reads it here starts later.
                    self.there[edge.from][processor] = Some(0);
                    makers.push(edge.from);
                }
            }
        }
        makers
    }

    /// Earliest start of a node on a processor; `None` if a value that it reads was not sent there.
    fn start(&self, node: usize, processor: usize) -> Option<u64> {
        let mut arrival = self.problem.release(node, processor);
        let mut begin = self.free[processor];
        let mut fetched: Vec<(u64, u64)> = Vec::new();
        for edge in self.problem.incoming(node) {
            let (maker, made) = (self.home[edge.from], self.ends[edge.from]);
            let time = edge.transfer(maker, processor);
            match edge.blocks(maker, processor) {
                None => arrival = arrival.max(made + time),
                Some(end) => match (self.there[edge.from][processor], end) {
                    (Some(there), _) => arrival = arrival.max(there),
                    (None, BlockedEnd::Receiver) => fetched.push((made, time)),
                    (None, BlockedEnd::Sender) => return None,
                },
            }
        }
        fetched.sort_unstable();
        for (made, time) in fetched {
            begin = begin.max(made) + time;
        }
        Some(begin.max(arrival))
    }

    /// Whether no way to go on is shorter than what was found.
    fn is_hopeless(&self, last_start: u64) -> bool {
        let available: u64 = self.free.iter().map(|&free| free.max(last_start)).sum();
        let processors = self.free.len() as u64;
        if (available + self.left).div_ceil(processors.max(1)) >= self.found.makespan {
            return true;
        }
        // Every node that could start now has to, somewhere.
        (0..self.problem.len()).filter(|&node| self.placed >> node & 1 == 0 && self.waiting[node] == 0).any(|node| {
            let through = self.problem.supporting(node).filter_map(|processor| {
                let start = self.start(node, processor)?.max(last_start);
                Some(start + self.problem.time(node, processor).unwrap_or(0) + self.bounds.tail(node, processor))
            });
            through.min().is_none_or(|through| through >= self.found.makespan)
        })
    }

    /// Whether a state with the same nodes done was at least as good; remembers this one otherwise.
    fn is_dominated(&mut self, last_start: u64) -> bool {
        let mut homes = Vec::new();
        let mut moments: Vec<u64> = self.free.iter().map(|&free| free.max(last_start)).collect();
        for node in (0..self.problem.len()).filter(|&node| self.placed >> node & 1 == 1) {
            if self.problem.outgoing(node).any(|edge| self.placed >> edge.to & 1 == 0) {
                homes.push(self.home[node] as u8);
                // Values that are everywhere by now might as well be there a little later.
                moments.push(self.ends[node].max(last_start.saturating_sub(self.slowest_transfer[node])));
                for (place, there) in self.there.get(node).into_iter().flatten().enumerate() {
                    homes.push(u8::from(there.is_some()) + 2 * place as u8);
                    moments.push(there.unwrap_or(0));
                }
            }
        }
        moments.push(last_start);
        let entry = self.seen.entry((self.placed, homes)).or_default();
        let is_at_least_as_good = |old: &Vec<u64>| old.iter().zip(&moments).all(|(old, new)| old <= new);
        if entry.iter().any(is_at_least_as_good) {
            return true;
        }
        if self.remembered < MOST_STATES {
            entry.retain(|old| !moments.iter().zip(old).all(|(new, old)| new <= old));
            entry.push(moments);
            self.remembered += 1;
        }
        false
    }
}
