//! A lower bound on the period of all schedules, however they are made.

use millstream_board::Board;
use millstream_cost::{ClassId, CostTable, Nanoseconds};
use millstream_graph::{Graph, OperatorId};

use crate::board::cluster_id::ClusterId;
use crate::times::dual_prices::{BILLION, balanced_prices, billionths, cheapest_resource};
use crate::times::operator_parts::{divisions, least_per_share, may_be_tiled};

/// Steps in which clusters become dearer, and how much in the first.
const PRICE_STEPS: usize = 2000;
const FIRST_RATE: f64 = 0.5;
/// Rounds over all pairs of clusters.
const ROUNDS: usize = 40;
/// Steps of the search for the best exchange of weight between two clusters.
const STEPS: usize = 60;

/// A period that no schedule on a board goes below by given costs: whatever the stages, replicas and teams, on any sets
/// of cores, with operators whole or divided by output channels or into tiles.
///
/// A cluster gives `n` core-seconds a second. An operator takes the least that it takes on any number of the cluster's
/// cores with any engine, times that number; one that may be divided takes the least that any of its parts takes for
/// its share of the channels, where processors make channels in waves. With weights for the clusters' core-seconds, a
/// frame takes at least the sum over the operators of their cheapest cluster, and no more than the weights of all cores
/// together are there in a second: the linear program of spreading operators over clusters has this as its dual, and
/// any weights give a bound. Transfers count as free.
///
/// Where the board says what its memory moves, no operator is faster than that, and no frame than all that its
/// operators move; only operators that take time wherever they run count as moving anything. Accelerators with memory of
/// their own count as moving through the board's as well, as they do in simulations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThroughputBound {
    /// No schedule passes frames more often.
    pub period: Nanoseconds,
    /// The proof: the dual price of all cores of each cluster, or of each accelerator, by label. Prices are in
    /// billionths, and those of the whole board add up to a billion.
    pub shares: Vec<(String, u64)>,
}

impl ThroughputBound {
    /// The highest bound that was found. A cluster that the table knows nothing of does not count.
    pub fn of(graph: &Graph, board: &Board, table: &CostTable) -> Self {
        let units = Unit::of(board);
        let rate = board.memory_bytes_per_second();
        let moving_seconds = rate.map_or(0.0, |rate| moved_bytes(graph, table) / rate);
        let table = &table.within_memory_of(board, graph);
        let divisions = divisions(graph);
        let work: Vec<Vec<Option<u64>>> = OperatorId::all(divisions.len())
            .zip(&divisions)
            .map(|(operator, division)| {
                units.iter().map(|unit| core_nanoseconds(unit, operator, division, table)).collect()
            })
            .collect();

        let seconds =
            |nanoseconds: &Option<u64>| nanoseconds.map_or(f64::INFINITY, |nanoseconds| nanoseconds as f64 * 1e-9);
        let demands = Demands {
            counts: units.iter().map(|unit| unit.cores as f64).collect(),
            operators: work.iter().map(|row| row.iter().map(seconds).collect()).collect(),
        };
        let prices = demands.best_weights().into_iter().zip(&demands.counts).map(|(weight, cores)| weight * cores);
        let shares = billionths(&prices.collect::<Vec<_>>());

        // The whole of a divided operator is rounded to a nanosecond, and so are its parts, on cores that are worth 1
        // together.
        let is_divided = |id: &OperatorId| !divisions[id.index()].is_empty() || may_be_tiled(graph, table, *id);
        let divided = graph.operator_ids().filter(is_divided).count();
        let by_work = exact_bound(&work, &units, &shares).unwrap_or(0).saturating_sub(divided as u64);
        let by_memory = (moving_seconds * (1.0 - 1e-9) * 1e9) as u64;
        let labels = units.into_iter().map(|unit| unit.label.to_owned());
        Self { period: Nanoseconds(by_work.max(by_memory)), shares: labels.zip(shares).collect() }
    }
}

/// A cluster, or an accelerator as a cluster of one core.
#[derive(Debug, Clone, Copy)]
struct Unit<'a> {
    label: &'a str,
    cores: usize,
}

impl<'a> Unit<'a> {
    /// The clusters and then the accelerators of a board.
    fn of(board: &'a Board) -> Vec<Self> {
        let clusters =
            board.clusters().iter().map(|cluster| Self { label: &cluster.label, cores: cluster.cores.len() });
        let accelerators = board.accelerators().iter().map(|accelerator| Self { label: &accelerator.label, cores: 1 });
        clusters.chain(accelerators).collect()
    }
}

/// The least work of a frame by these dual prices, in nanoseconds of the whole board, without any rounding on the way;
/// `None` if that is too large to be added up.
fn exact_bound(work: &[Vec<Option<u64>>], units: &[Unit<'_>], shares: &[u64]) -> Option<u64> {
    let counts = units.iter().map(|unit| unit.cores as u128);
    let multiple =
        counts.clone().try_fold(1_u128, |multiple, count| (multiple / divisor(multiple, count)).checked_mul(count))?;
    let of_operator = |row: &Vec<Option<u64>>| {
        let prices = row.iter().zip(counts.clone()).zip(shares).filter_map(|((time, count), share)| {
            Some((u128::from((*time)?) * u128::from(*share)).saturating_mul(multiple / count))
        });
        prices.min().unwrap_or(0)
    };
    let priced_work = work.iter().map(of_operator).try_fold(0_u128, u128::checked_add)?;
    Some(u64::try_from(priced_work / multiple.checked_mul(u128::from(BILLION))?).unwrap_or(u64::MAX))
}

/// The largest number that divides both.
fn divisor(one: u128, other: u128) -> u128 {
    if other == 0 { one } else { divisor(other, one % other) }
}

/// Bytes that a frame moves to and from memory at least.
fn moved_bytes(graph: &Graph, table: &CostTable) -> f64 {
    let takes_time = |operator: OperatorId| {
        let mut times = table.class_ids().filter_map(|processor| table.time(processor, operator));
        times.all(|time| time > Nanoseconds::ZERO)
    };
    let moving = graph.operator_ids().filter(|id| takes_time(*id));
    moving.map(|id| graph.operator(id).work.bytes()).sum::<u64>() as f64
}

/// The least core-nanoseconds of an operator on a cluster, whole or by the share of a part; `None` where it can't run.
fn core_nanoseconds(unit: &Unit<'_>, operator: OperatorId, divisions: &[usize], table: &CostTable) -> Option<u64> {
    let of_class = |(processor, count): (ClassId, usize)| {
        let time = table.time(processor, operator)?;
        let part = table.part(processor, operator);
        let least = least_per_share(&part, divisions);
        let whole = time.0.saturating_mul(count as u64);
        Some(if least < 1.0 { (whole as f64 * least) as u64 } else { whole })
    };
    let of_count = |count: usize| table.with_any_engine(unit.label, count).map(move |processor| (processor, count));
    (1..=unit.cores).flat_map(of_count).filter_map(of_class).min()
}

/// What a frame asks of the clusters.
struct Demands {
    /// Cores of each cluster.
    counts: Vec<f64>,
    /// Core-seconds per operator and cluster.
    operators: Vec<Vec<f64>>,
}

impl Demands {
    /// The dual objective: the least work of a frame by these weights, in seconds.
    fn bound(&self, weights: &[f64]) -> f64 {
        self.operators.iter().filter_map(|seconds| Some(cheapest_resource(seconds, weights)?.1)).sum()
    }

    /// Weights that give a high bound. First the clusters that operators choose become dearer, step by step; then
    /// weight is moved between two clusters as long as that helps. The bound is concave in the weights, so the best
    /// exchange is found by narrowing down.
    fn best_weights(&self) -> Vec<f64> {
        let mut weights = self.balanced_weights();
        for _ in 0..ROUNDS {
            let before = self.bound(&weights);
            for from in ClusterId::all(weights.len()) {
                for to in ClusterId::all(from.index()) {
                    weights = self.best_exchange(&weights, from, to);
                }
            }
            if self.bound(&weights) <= before * (1.0 + 1e-7) {
                break;
            }
        }
        weights
    }

    /// The best of the weights that are met while the more loaded of the clusters become dearer.
    fn balanced_weights(&self) -> Vec<f64> {
        let of_all_cores = |(core_seconds, cores): (&f64, &f64)| core_seconds / cores.max(1.0);
        let times: Vec<Vec<f64>> =
            self.operators.iter().map(|row| row.iter().zip(&self.counts).map(of_all_cores).collect()).collect();
        self.weights_of(&balanced_prices(&times, self.counts.len(), PRICE_STEPS, FIRST_RATE))
    }

    /// The weight of a core of each cluster if all its cores have this share of everything.
    fn weights_of(&self, shares: &[f64]) -> Vec<f64> {
        shares.iter().zip(&self.counts).map(|(share, count)| share / count.max(1.0)).collect()
    }

    /// The best division between two clusters of the weight that they have together.
    fn best_exchange(&self, weights: &[f64], from: ClusterId, to: ClusterId) -> Vec<f64> {
        let (from, to) = (from.index(), to.index());
        let together = weights[from] * self.counts[from] + weights[to] * self.counts[to];
        let divided = |share: f64| {
            let mut divided = weights.to_vec();
            divided[from] = share * together / self.counts[from].max(1.0);
            divided[to] = (1.0 - share) * together / self.counts[to].max(1.0);
            divided
        };
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..STEPS {
            let (left, right) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
            if self.bound(&divided(left)) < self.bound(&divided(right)) { low = left } else { high = right }
        }
        let exchanged = divided((low + high) / 2.0);
        if self.bound(&exchanged) > self.bound(weights) { exchanged } else { weights.to_vec() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two processors of which each is good at one of two operators: a frame needs a second of each.
    #[test]
    fn weights_find_what_each_is_good_at() {
        let demands = Demands { counts: vec![1.0, 1.0], operators: vec![vec![1.0, 9.0], vec![9.0, 1.0]] };
        assert!((demands.bound(&demands.best_weights()) - 1.0).abs() < 1e-6);
        // Four slow cores do as much as two fast ones.
        let demands = Demands { counts: vec![2.0, 4.0], operators: vec![vec![1.0, 2.0]; 6] };
        assert!((demands.bound(&demands.best_weights()) - 6.0 / 4.0).abs() < 1e-6);
        // Two that are alike must become dearer together, until a core is worth a tenth of them: 1/22, as there are two
        // of each.
        let demands = Demands {
            counts: vec![2.0, 1.0, 1.0],
            operators: vec![vec![20.0, 2.0, 2.0], vec![0.1, f64::INFINITY, f64::INFINITY], vec![20.0, 0.2, 0.2]],
        };
        assert!((demands.bound(&demands.best_weights()) - (20.0 + 0.1 + 2.0) / 22.0).abs() < 1e-3);
        // What only one can do bounds the rest.
        let demands = Demands { counts: vec![1.0, 1.0], operators: vec![vec![5.0, f64::INFINITY], vec![1.0, 1.0]] };
        assert!((demands.bound(&demands.best_weights()) - 5.0).abs() < 1e-6);
    }
}
