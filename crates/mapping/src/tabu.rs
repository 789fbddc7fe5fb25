//! Tabu search over orders where every node has its one processor, as operations of job shops have (Nowicki and Smutnicki, Management
//! Science 42(6), 1996).

use std::collections::HashMap;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::found::{Course, Found};
use crate::mapping::Budget;
use crate::node_range::NodeRange;
use crate::{Edge, MappingProblem, TaskId};

/// Moves for which a pair may not be exchanged back: at least, and how many more at the most.
const TABU_MOVES: usize = 8;
const MORE_TABU_MOVES: usize = 12;
/// Moves without a better order after which the search goes back to the best one, per node and at the most, and how many are made there at
/// random.
const PATIENCE_PER_NODE: usize = 20;
const MOST_PATIENCE: usize = 2000;
const KICKS: usize = 12;
/// Between two looks at what is left.
const MOVES_PER_LOOK: usize = 64;

/// Whether only orders can be chosen, and nothing but nodes occupies processors.
pub(crate) fn suits(problem: &MappingProblem) -> bool {
    let has_one_place = |node: TaskId| problem.supporting(node).count() == 1;
    let is_beside = |edge: &Edge| edge.pairs().all(|(from, to)| edge.blocks(from, to).is_none());
    problem.nodes().all(has_one_place) && problem.edges().iter().all(is_beside)
}

/// Improves on the order of a problem that [`suits`], by exchanging neighbours at the ends of blocks of the longest path: only these can make
/// it shorter. Of such exchanges the best by estimate is made, even if it makes the order worse, but none is soon taken back.
pub(crate) fn improve_order(
    problem: &MappingProblem,
    start: &Found,
    lower_bound: u64,
    course: &Course,
    budget: &Budget<'_>,
) -> Found {
    let mut best = start.clone();
    let mut random = ChaCha8Rng::seed_from_u64(course.seed);
    let mut orders = Orders::new(problem, &start.order);
    let Some(mut makespan) = orders.evaluate() else { return best };
    let patience = MOST_PATIENCE.min(PATIENCE_PER_NODE * problem.len());
    let (mut tabu, mut idle): (HashMap<(TaskId, TaskId), usize>, usize) = (HashMap::new(), 0);

    for step in 0..course.moves {
        if step % MOVES_PER_LOOK == 0 {
            if budget.reason(best.makespan, lower_bound).is_some() {
                break;
            }
            budget.spend(MOVES_PER_LOOK.min(course.moves - step) as u64 * problem.len() as u64);
        }

        let path = orders.path(makespan, course.nodes, &mut random);
        if path.exchanges.is_empty() && makespan <= best.makespan {
            // Nothing on the longest path waits for its processor, or nothing on it may move.
            break;
        }
        let moves = path.at_block_ends;
        let is_restart = idle >= patience || moves.is_empty();
        let Some(chosen) =
            (if is_restart { None } else { choose(&orders, &moves, &tabu, (step, best.makespan), &mut random) })
        else {
            tabu.clear();
            makespan = orders.restart(&best.order, course.nodes, &mut random);
            idle = 0;
            continue;
        };

        let tenure = TABU_MOVES + random.random_range(0..=MORE_TABU_MOVES);
        tabu.insert((chosen.1, chosen.0), step + tenure);
        orders.exchange(chosen);
        match orders.evaluate() {
            Some(found) => makespan = found,
            None => {
                // Nodes that take no time may wait for each other in a circle.
                orders.exchange((chosen.1, chosen.0));
                tabu.insert(chosen, step + tenure);
                makespan = orders.evaluate().unwrap_or(makespan);
            }
        }

        idle += 1;
        if makespan < best.makespan {
            (best, idle) = (Found { order: orders.order.clone(), makespan }, 0);
        }
    }
    best
}

/// The exchange with the least estimate of those that are allowed, any of several; any at all if none is.
fn choose(
    orders: &Orders<'_>,
    moves: &[(TaskId, TaskId)],
    tabu: &HashMap<(TaskId, TaskId), usize>,
    (step, best): (usize, u64),
    random: &mut ChaCha8Rng,
) -> Option<(TaskId, TaskId)> {
    let mut least: Option<(u64, u32, (TaskId, TaskId))> = None;
    for &pair in moves {
        let estimate = orders.estimate(pair);
        let is_tabu = tabu.get(&pair).is_some_and(|&until| until > step);
        let own = (estimate, random.random::<u32>(), pair);
        if (!is_tabu || estimate < best) && least.is_none_or(|least| own < least) {
            least = Some(own);
        }
    }
    match least {
        Some((.., pair)) => Some(pair),
        None => moves.get(random.random_range(0..moves.len())).copied(),
    }
}

/// Neighbours on one processor that may be exchanged, on one longest path.
#[derive(Default)]
struct LongestPath {
    /// All of them. Without one, no order has a shorter path: what is left is due to dependencies.
    exchanges: Vec<(TaskId, TaskId)>,
    /// Those at the ends of blocks, which are nodes that one processor does one after the other.
    at_block_ends: Vec<(TaskId, TaskId)>,
}

/// The orders of all processors, and the longest paths from and to each node.
struct Orders<'a> {
    problem: &'a MappingProblem,
    times: Vec<u64>,
    releases: Vec<u64>,
    /// Per node: whom it waits for and who waits for it, with the transfers between.
    before: Vec<Vec<(TaskId, u64)>>,
    after: Vec<Vec<(TaskId, u64)>>,
    order: Vec<Vec<TaskId>>,
    /// The processor of each node, and its place there.
    places: Vec<(usize, usize)>,
    /// When each node starts, and the longest path after its end.
    heads: Vec<u64>,
    tails: Vec<u64>,
    /// Nodes in an order in which they can run.
    sequence: Vec<TaskId>,
    waiting: Vec<usize>,
}

impl<'a> Orders<'a> {
    fn new(problem: &'a MappingProblem, order: &[Vec<TaskId>]) -> Self {
        let place = |node: TaskId| problem.supporting(node).next();
        let lag = |edge: &Edge| place(edge.from).zip(place(edge.to)).map_or(0, |(from, to)| edge.transfer(from, to));
        let time = |node: TaskId| place(node).and_then(|own| problem.time(node, own)).unwrap_or(0);
        let release = |node: TaskId| place(node).map_or(0, |own| problem.release(node, own));
        let before = |node: TaskId| problem.incoming(node).map(|edge| (edge.from, lag(edge))).collect();
        let after = |node: TaskId| problem.outgoing(node).map(|edge| (edge.to, lag(edge))).collect();
        let count = problem.len();
        let mut orders = Self {
            problem,
            times: problem.nodes().map(time).collect(),
            releases: problem.nodes().map(release).collect(),
            before: problem.nodes().map(before).collect(),
            after: problem.nodes().map(after).collect(),
            order: Vec::new(),
            places: vec![(0, 0); count],
            heads: vec![0; count],
            tails: vec![0; count],
            sequence: Vec::with_capacity(count),
            waiting: vec![0; count],
        };
        orders.set(order);
        orders
    }

    fn set(&mut self, order: &[Vec<TaskId>]) {
        self.order = order.to_vec();
        for (processor, nodes) in order.iter().enumerate() {
            for (place, node) in nodes.iter().enumerate() {
                self.places[node.index()] = (processor, place);
            }
        }
    }

    /// The node that the processor of another does before it.
    fn previous(&self, node: TaskId) -> Option<TaskId> {
        let (processor, place) = self.places[node.index()];
        self.order[processor].get(place.checked_sub(1)?).copied()
    }

    /// The node that it does next.
    fn next(&self, node: TaskId) -> Option<TaskId> {
        let (processor, place) = self.places[node.index()];
        self.order[processor].get(place + 1).copied()
    }

    /// The makespan, with all heads and tails; `None` if nodes wait for each other in a circle.
    fn evaluate(&mut self) -> Option<u64> {
        self.sequence.clear();
        for node in self.problem.nodes() {
            let waiting = self.before[node.index()].len() + usize::from(self.places[node.index()].1 > 0);
            self.waiting[node.index()] = waiting;
            if waiting == 0 {
                self.sequence.push(node);
            }
        }

        self.heads.copy_from_slice(&self.releases);
        let (mut done, mut makespan) = (0, 0);
        while let Some(&node) = self.sequence.get(done) {
            done += 1;
            let end = self.heads[node.index()] + self.times[node.index()];
            makespan = makespan.max(end);
            let next = self.next(node);
            for (other, lag) in self.after[node.index()].iter().copied().chain(next.map(|next| (next, 0))) {
                self.heads[other.index()] = self.heads[other.index()].max(end + lag);
                self.waiting[other.index()] -= 1;
                if self.waiting[other.index()] == 0 {
                    self.sequence.push(other);
                }
            }
        }

        if done < self.problem.len() {
            return None;
        }
        for &node in self.sequence.iter().rev() {
            let left = |&(other, lag): &(TaskId, u64)| lag + self.times[other.index()] + self.tails[other.index()];
            let next = self.next(node).map(|next| (next, 0));
            self.tails[node.index()] = self.after[node.index()].iter().chain(&next).map(left).max().unwrap_or(0);
        }
        Some(makespan)
    }

    /// What can be exchanged on a longest path, one of several at random.
    fn path(&self, makespan: u64, nodes: NodeRange, random: &mut ChaCha8Rng) -> LongestPath {
        let end = |node: TaskId| self.heads[node.index()] + self.times[node.index()];
        let mut path = LongestPath::default();

        let last: Vec<TaskId> = self.problem.nodes().filter(|&node| end(node) == makespan).collect();
        let mut node = last[random.random_range(0..last.len())];
        // The pairs of the block at hand, the last one first.
        let mut block: Vec<(TaskId, TaskId)> = Vec::new();
        let mut close = |block: &mut Vec<(TaskId, TaskId)>| {
            path.at_block_ends.extend(block.first());
            path.at_block_ends.extend(block.last().filter(|_| block.len() > 1));
            path.exchanges.append(block);
        };

        loop {
            let start = self.heads[node.index()];
            let previous = self.previous(node).filter(|&previous| end(previous) == start);
            let maker = self.before[node.index()].iter().find(|(maker, lag)| end(*maker) + lag == start);
            match (previous, maker) {
                (Some(previous), maker) if maker.is_none() || random.random::<bool>() => {
                    block.push((previous, node));
                    node = previous;
                }
                (_, Some(&(maker, _))) => {
                    close(&mut block);
                    node = maker;
                }
                (_, None) => break,
            }
        }
        close(&mut block);

        let is_free = |&(one, other): &(TaskId, TaskId)| {
            let depends = self.before[other.index()].iter().any(|(maker, _)| *maker == one);
            nodes.contains(one) && nodes.contains(other) && !depends
        };
        path.exchanges.retain(is_free);
        path.at_block_ends.retain(is_free);
        path
    }

    /// About the longest path through one of two neighbours once they are exchanged; never more than the makespan then.
    fn estimate(&self, (one, other): (TaskId, TaskId)) -> u64 {
        let (time, other_time) = (self.times[one.index()], self.times[other.index()]);
        let end = |&(node, lag): &(TaskId, u64)| self.heads[node.index()] + self.times[node.index()] + lag;
        let left = |&(node, lag): &(TaskId, u64)| lag + self.times[node.index()] + self.tails[node.index()];
        let on_time = |node: TaskId| {
            self.before[node.index()].iter().map(end).max().unwrap_or(0).max(self.releases[node.index()])
        };
        let after = |node: TaskId| self.after[node.index()].iter().map(left).max().unwrap_or(0);
        let previous = self.previous(one).map_or(0, |previous| end(&(previous, 0)));
        let next = self.next(other).map_or(0, |next| left(&(next, 0)));
        let other_head = on_time(other).max(previous);
        let head = on_time(one).max(other_head + other_time);
        let tail = after(one).max(next);
        let other_tail = after(other).max(time + tail);
        (other_head + other_time + other_tail).max(head + time + tail)
    }

    /// Exchanges two neighbours.
    fn exchange(&mut self, (one, other): (TaskId, TaskId)) {
        self.places.swap(one.index(), other.index());
        for node in [one, other] {
            let (processor, place) = self.places[node.index()];
            self.order[processor][place] = node;
        }
    }

    /// Goes to some order near another one; returns its makespan. Exchanges within blocks make nothing shorter by themselves, but without them
    /// some orders, maybe all the best ones, are out of reach.
    fn restart(&mut self, near: &[Vec<TaskId>], nodes: NodeRange, random: &mut ChaCha8Rng) -> u64 {
        self.set(near);
        let mut makespan = self.evaluate().unwrap_or(0);
        for _ in 0..KICKS {
            let exchanges = self.path(makespan, nodes, random).exchanges;
            if exchanges.is_empty() {
                break;
            }
            let pair = exchanges[random.random_range(0..exchanges.len())];
            self.exchange(pair);
            match self.evaluate() {
                Some(found) => makespan = found,
                None => {
                    self.exchange((pair.1, pair.0));
                    makespan = self.evaluate().unwrap_or(makespan);
                }
            }
        }
        makespan
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use proptest::prelude::*;
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;

    use super::*;
    use crate::ProcessorId;
    use crate::mapping::MapperLimits;

    /// Jobs of some operations, each on a machine of its own, with transfers between machines.
    fn job_shop(times: &[Vec<u64>], machines: &[Vec<usize>], transfer: u64) -> MappingProblem {
        let count = times[0].len();
        let mut rows = Vec::new();
        let mut edges = Vec::new();
        let transfers = (0..count)
            .map(|from| (0..count).map(|to| if from == to { 0 } else { transfer }).collect())
            .collect::<Vec<Vec<u64>>>();
        for (job, machines) in machines.iter().enumerate() {
            for (operation, &machine) in machines.iter().enumerate() {
                rows.push((0..count).map(|own| (own == machine).then_some(times[job][operation])).collect());
                if operation > 0 {
                    let node = job * count + operation;
                    edges.push(Edge::new(TaskId::new(node - 1), TaskId::new(node), transfers.clone()));
                }
            }
        }
        let names = (0..rows.len()).map(|node| format!("o{node}")).collect();
        MappingProblem::new(names, rows, edges).unwrap()
    }

    fn cases() -> impl Strategy<Value = MappingProblem> {
        let job = || (proptest::collection::vec(0_u64..20, 3), Just(vec![0, 1, 2]).prop_shuffle());
        (proptest::collection::vec(job(), 2..5), 0_u64..4).prop_map(|(jobs, transfer)| {
            let (times, machines): (Vec<_>, Vec<_>) = jobs.into_iter().unzip();
            job_shop(&times, &machines, transfer)
        })
    }

    /// Operations job by job, in the order of their machines.
    fn first_order(problem: &MappingProblem) -> Found {
        let of =
            |processor: ProcessorId| problem.nodes().filter(|&node| problem.time(node, processor).is_some()).collect();
        let order: Vec<Vec<TaskId>> = problem.processors().map(of).collect();
        Found { makespan: problem.makespan(&order).unwrap().0, order }
    }

    /// The least makespan of all orders.
    fn least(problem: &MappingProblem, order: &mut Vec<Vec<TaskId>>, (processor, place): (usize, usize)) -> u64 {
        let Some(own) = order.get(processor) else {
            return problem.makespan(order).map_or(u64::MAX, |makespan| makespan.0);
        };
        if place + 1 >= own.len() {
            return least(problem, order, (processor + 1, 0));
        }
        let mut best = u64::MAX;
        for other in place..order[processor].len() {
            order[processor].swap(place, other);
            best = best.min(least(problem, order, (processor, place + 1)));
            order[processor].swap(place, other);
        }
        best
    }

    fn improved(problem: &MappingProblem, moves: usize) -> Found {
        let course = Course { moves, seed: 0, nodes: NodeRange::all(problem), heat: 0.0 };
        improve_order(problem, &first_order(problem), 0, &course, &Budget::start(&MapperLimits::default()))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        /// Heads, tails and estimates say what the execution rules say, and no order is made worse.
        #[test]
        fn orders_are_evaluated_by_the_rules(problem in cases()) {
            prop_assert!(suits(&problem));
            let start = first_order(&problem);
            let mut orders = Orders::new(&problem, &start.order);
            let makespan = orders.evaluate().unwrap();
            prop_assert_eq!(makespan, start.makespan);
            let longest = |orders: &Orders<'_>| problem.nodes().map(|node| {
                orders.heads[node.index()] + orders.times[node.index()] + orders.tails[node.index()]
            }).max();
            prop_assert_eq!(longest(&orders), Some(makespan));
            let nodes = NodeRange::all(&problem);
            for pair in orders.path(makespan, nodes, &mut ChaCha8Rng::seed_from_u64(1)).exchanges {
                let estimate = orders.estimate(pair);
                orders.exchange(pair);
                let exchanged = problem.makespan(&orders.order);
                prop_assert_eq!(orders.evaluate(), exchanged.map(|own| own.0));
                prop_assert!(exchanged.is_none_or(|own| estimate <= own.0));
                orders.exchange((pair.1, pair.0));
                orders.evaluate().unwrap();
            }
            let found = improved(&problem, 200);
            prop_assert_eq!(problem.makespan(&found.order).unwrap().0, found.makespan);
            prop_assert!(found.makespan <= start.makespan);
            prop_assert!(found.makespan >= least(&problem, &mut start.order.clone(), (0, 0)));
        }
    }

    /// The least makespan is found on 300 small job shops. They are always the same ones: no search by exchanges promises it for all.
    #[test]
    fn the_best_of_all_orders_is_found() {
        let mut runner = TestRunner::deterministic();
        for _ in 0..300 {
            let problem = cases().new_tree(&mut runner).unwrap().current();
            let least = least(&problem, &mut first_order(&problem).order, (0, 0));
            assert_eq!(improved(&problem, 4000).makespan, least, "{problem:?}");
        }
    }

    /// A search that only exchanges nodes at the ends of blocks, even where it sets out anew, stops at 34.
    #[test]
    fn orders_beyond_the_ends_of_blocks_are_found() {
        let times = [[2, 17, 0], [0, 0, 13], [10, 0, 0], [4, 0, 13]].map(Vec::from);
        let machines = [[0, 2, 1], [1, 0, 2], [0, 2, 1], [1, 2, 0]].map(Vec::from);
        let problem = job_shop(&times, &machines, 1);
        assert_eq!(least(&problem, &mut first_order(&problem).order, (0, 0)), 33);
        assert_eq!(improved(&problem, 4000).makespan, 33);
    }

    /// Where something can run elsewhere, orders are not all.
    #[test]
    fn what_can_run_elsewhere_is_not_only_ordered() {
        let names = ["a", "b"].map(str::to_owned).to_vec();
        let times = vec![vec![Some(1), None], vec![Some(1), Some(1)]];
        assert!(!suits(&MappingProblem::new(names, times, Vec::new()).unwrap()));
    }
}
