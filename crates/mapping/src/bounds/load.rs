//! Bounds from what processors have to do between two moments.
//!
//! Give each processor a price per unit of time, all prices adding up to one. Whatever nodes run where, a set of them
//! costs at least the sum of each one's least cost, and all processors together cost one per unit of time: so that sum
//! is the least time between the first start and the last end of the set. (Prices are the multipliers of the linear
//! program that spreads the set's work over the processors; the best ones give its value, and any others a bound as
//! well.)

use millstream_cost::Nanoseconds;
use millstream_schedule::execution::{ProcessorId, TaskId};

use crate::bounds::PathBounds;
use crate::problem::MappingProblem;

/// What prices add up to.
pub(crate) const UNIT: u64 = 1 << 20;
/// What stands for a cost beyond all times: sums of a few of them are still numbers.
const LONGEST: Nanoseconds = Nanoseconds(u64::MAX / 4);
/// Rounds of looking for better prices.
const ROUNDS: usize = 40;
/// Nodes beyond which pairs of them are too many to look at.
const MOST_NODES: usize = 1024;

/// Least costs of nodes by several choices of prices.
#[derive(Debug, Clone)]
pub(crate) struct Loads {
    /// Prices of the processors for each choice; what they add up to is at most [`UNIT`].
    prices: Vec<Vec<u64>>,
    /// For each choice, each node's least cost.
    costs: Vec<Vec<u128>>,
    /// For each node, whether each other one runs before it; row per node. Empty if there are too many nodes.
    is_before: Vec<Vec<bool>>,
}

impl Loads {
    pub(crate) fn new(problem: &MappingProblem) -> Self {
        let prices = prices(problem);
        let cost = |prices: &Vec<u64>, node: TaskId| {
            let costs = problem.supporting(node).map(|processor| {
                let time = problem.time(node, processor).unwrap_or_default();
                u128::from(prices[processor.index()]) * u128::from(time.0)
            });
            costs.min().unwrap_or(0)
        };
        let costs = prices.iter().map(|prices| problem.nodes().map(|node| cost(prices, node)).collect()).collect();
        let is_before = if problem.len() > MOST_NODES { Vec::new() } else { ancestors(problem) };
        Self { prices, costs, is_before }
    }

    /// About how many steps of a budget the use of these bounds takes.
    pub(crate) fn steps(&self) -> u64 {
        (self.is_before.len() * self.is_before.len() * self.costs.len() / 32) as u64
    }

    /// Least costs with the prices that are best for all nodes, and these prices.
    pub(crate) fn best(&self) -> Option<(&[u64], &[u128])> {
        let all = self.prices.iter().zip(&self.costs);
        all.max_by_key(|(_, costs)| costs.iter().sum::<u128>()).map(|(prices, costs)| (&prices[..], &costs[..]))
    }

    /// A node starts after all that runs before it: of these, those with a head of so much or more come between that
    /// head and the node. What runs after a node comes between its end and the least tail in the same way.
    pub(crate) fn raise(&self, problem: &MappingProblem, bounds: &mut PathBounds) {
        let nodes = TaskId::all(self.is_before.len());
        let mut by_head: Vec<TaskId> = nodes.clone().collect();
        by_head.sort_by_key(|node| (std::cmp::Reverse(bounds.heads[node.index()]), *node));
        let mut by_tail: Vec<TaskId> = nodes.clone().collect();
        by_tail.sort_by_key(|node| (std::cmp::Reverse(bounds.least_tails[node.index()]), *node));

        for node in nodes {
            let before = by_head.iter().copied().filter(|other| self.is_before[node.index()][other.index()]);
            let start = self.longest(&before, &bounds.heads);
            let after = by_tail.iter().copied().filter(|other| self.is_before[other.index()][node.index()]);
            let tail = self.longest(&after, &bounds.least_tails);
            for processor in problem.supporting(node) {
                bounds.raise_start(node, processor, start);
                bounds.raise_tail(node, processor, tail);
            }
        }
    }

    /// The longest of: a moment, then what nodes from then on take. Nodes come with their moments falling.
    fn longest(&self, nodes: &(impl Iterator<Item = TaskId> + Clone), moments: &[Nanoseconds]) -> Nanoseconds {
        let by_costs = |costs: &Vec<u128>| {
            let mut sum = 0;
            let ends = nodes.clone().map(|node| {
                sum += costs[node.index()];
                moments[node.index()] + time(sum)
            });
            ends.max().unwrap_or_default()
        };
        self.costs.iter().map(by_costs).max().unwrap_or_default()
    }

    /// The least makespan: some head, what all nodes with this head or a later one and some tail or a longer one take,
    /// and that tail.
    pub(crate) fn bound(&self, heads: &[Nanoseconds], tails: &[Nanoseconds]) -> Nanoseconds {
        let mut by_tail: Vec<TaskId> = TaskId::all(self.is_before.len()).collect();
        by_tail.sort_by_key(|node| (std::cmp::Reverse(tails[node.index()]), *node));
        let mut different = heads.to_vec();
        different.sort_unstable();
        different.dedup();
        let from = |&head: &Nanoseconds| {
            let late = by_tail.iter().copied().filter(|node| heads[node.index()] >= head);
            // Without nodes there is nothing to bound.
            if by_tail.is_empty() { Nanoseconds::ZERO } else { head + self.longest(&late, tails) }
        };
        different.iter().map(from).max().unwrap_or_default()
    }
}

impl PathBounds {
    /// Puts in what the loads of processors say of starts, tails and the whole.
    pub(crate) fn add_loads(&mut self, problem: &MappingProblem, loads: &Loads) {
        loads.raise(problem, self);
        self.propagate(problem);
        self.critical = self.critical.max(loads.bound(&self.heads, &self.least_tails));
    }
}

/// What a cost takes at the least.
fn time(cost: u128) -> Nanoseconds {
    u64::try_from(cost.div_ceil(u128::from(UNIT))).map_or(LONGEST, Nanoseconds)
}

/// Each processor alone, all of them evenly, and what comes of raising the prices of those that have most to do where
/// each node runs where it is cheapest.
fn prices(problem: &MappingProblem) -> Vec<Vec<u64>> {
    let count = problem.processor_count();
    let alone =
        |one: ProcessorId| problem.processors().map(|processor| if processor == one { UNIT } else { 0 }).collect();
    let mut all: Vec<Vec<u64>> = problem.processors().map(alone).collect();

    let mut shares = vec![1.0 / count.max(1) as f64; count];
    let mut step = 0.5;
    for _ in 0..ROUNDS {
        all.push(shares.iter().map(|share| (share * UNIT as f64) as u64).collect());
        let loads = cheapest_loads(problem, &shares);
        let most = loads.iter().copied().fold(1.0, f64::max);
        for (share, load) in shares.iter_mut().zip(loads) {
            *share *= 1.0 + step * load / most;
        }
        let sum: f64 = shares.iter().sum();
        shares.iter_mut().for_each(|share| *share /= sum);
        step *= 0.9;
    }

    // Rounding never makes them add up to more.
    for prices in &mut all {
        while prices.iter().sum::<u64>() > UNIT {
            if let Some(most) = prices.iter_mut().max() {
                *most -= 1;
            }
        }
    }
    all.sort_unstable();
    all.dedup();
    all
}

/// The time in nanoseconds for which each processor works if each node runs where it is cheapest at these prices.
fn cheapest_loads(problem: &MappingProblem, prices: &[f64]) -> Vec<f64> {
    let mut loads = vec![0.0_f64; problem.processor_count()];
    for node in problem.nodes() {
        let costs = problem.supporting(node).map(|processor| {
            let time = problem.time(node, processor).unwrap_or_default().0 as f64;
            (prices[processor.index()] * time, processor, time)
        });
        if let Some((_, processor, time)) = costs.min_by(|left, right| left.0.total_cmp(&right.0)) {
            loads[processor.index()] += time;
        }
    }
    loads
}

/// For each node, whether each other one runs before it.
pub(crate) fn ancestors(problem: &MappingProblem) -> Vec<Vec<bool>> {
    let mut is_before: Vec<Vec<bool>> = Vec::with_capacity(problem.len());
    for node in problem.nodes() {
        let mut row = vec![false; problem.len()];
        for edge in problem.incoming(node) {
            row[edge.from.index()] = true;
            for (of_node, of_maker) in row.iter_mut().zip(&is_before[edge.from.index()]) {
                *of_node |= of_maker;
            }
        }
        is_before.push(row);
    }
    is_before
}

/// With fewer nodes, branch and bound is done before better bounds are.
pub(crate) const LEAST_NODES_FOR_LOADS: usize = 16;

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;
    use crate::mapper::Mapper;
    use crate::quick::Quick;

    /// Six nodes of 100 ns on the one processor and 200 ns on the other: 400 ns if both share them as well as can be.
    /// At equal prices they cost 300 ns; the prices that say more are those that follow what the quicker one has to do.
    #[test]
    fn the_price_of_who_has_most_to_do_rises() {
        let row = vec![Some(Nanoseconds(100)), Some(Nanoseconds(200))];
        let names = (0..6).map(|node| format!("n{node}")).collect();
        let problem = MappingProblem::new(names, vec![row; 6], Vec::new()).unwrap();
        let loads = Loads::new(&problem);
        let (prices, costs) = loads.best().unwrap();
        let least = time(costs.iter().sum());
        assert!((395..=400).contains(&least.0), "{least}");
        assert!(prices[0] > prices[1] && prices.iter().sum::<u64>() <= UNIT, "{prices:?}");
        assert_eq!(Quick.name(), "quick");
    }
}
