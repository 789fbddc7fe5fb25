//! What no schedule can beat, however it is made.

use millstream_board::Board;
use millstream_cost::{CostTable, Nanoseconds, PartCost, ProcessorIndex};
use millstream_graph::{Graph, Locality, OperatorId};

/// Steps in which clusters become dearer, and how much in the first.
const PRICE_STEPS: usize = 2000;
const PRICE_RATE: f64 = 0.5;
/// Rounds over all pairs of clusters.
const ROUNDS: usize = 40;
/// Steps of the search for the best exchange of weight between two clusters.
const STEPS: usize = 60;

/// A period that no schedule on a board goes below by given costs: whatever the stages, replicas and teams, on any sets of cores, with
/// operators whole or divided by output channels or by rows.
///
/// A cluster gives `n` core-seconds a second. An operator takes the least that it takes on any number of the cluster's cores with any
/// engine, times that number; one that may be divided takes the least that any of its parts takes for its share of the channels, where processors make
/// channels in waves. With weights for the clusters' core-seconds, a frame takes at least the sum over the operators of their cheapest cluster, and
/// no more than the weights of all cores together are there in a second: the linear program of spreading operators over clusters has this
/// as its dual, and any weights give a bound. Transfers count as free.
///
/// Where the board says what its memory moves, no operator is faster than that, and no frame than all that its operators move; only
/// operators that take time wherever they run count as moving anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThroughputBound {
    /// No schedule passes frames more often.
    pub period: Nanoseconds,
    /// What all cores of each cluster, or each accelerator, are worth for a second, by label: in parts of a billion, which is what all are
    /// worth together. They are the proof.
    pub shares: Vec<(String, u64)>,
}

impl ThroughputBound {
    /// The highest bound that was found. A cluster that the table knows nothing of does not count.
    pub fn of(graph: &Graph, board: &Board, table: &CostTable) -> Self {
        let clusters = board.clusters().iter().map(|cluster| (cluster.label.clone(), cluster.cores.len()));
        let accelerators = board.accelerators().iter().map(|accelerator| (accelerator.label.clone(), 1));
        let units: Vec<(String, usize)> = clusters.chain(accelerators).collect();
        let rate = board.memory_bytes_per_second();
        let moving_seconds = rate.map_or(0.0, |rate| moved_bytes(graph, table) / rate);
        let table = &table.within_memory_of(board, graph);
        let divisions = divisions(graph);
        let work: Vec<Vec<Option<u64>>> = divisions
            .iter()
            .enumerate()
            .map(|(operator, division)| {
                units.iter().map(|unit| core_nanoseconds(unit, operator, division, table)).collect()
            })
            .collect();
        let seconds = |own: &Option<u64>| own.map_or(f64::INFINITY, |own| own as f64 * 1e-9);
        let demands = Demands {
            counts: units.iter().map(|(_, count)| *count as f64).collect(),
            operators: work.iter().map(|own| own.iter().map(seconds).collect()).collect(),
        };
        let shares = shares(&demands.best_weights(), &units);

        // The whole of a divided operator is rounded to a nanosecond, and so are its parts, on cores that are worth 1 together.
        let is_divided = |id: &OperatorId| !divisions[id.index()].is_empty() || may_be_tiled(graph, table, *id);
        let divided = graph.operator_ids().filter(is_divided).count();
        let by_work = exact_bound(&work, &units, &shares).unwrap_or(0).saturating_sub(divided as u64);
        let by_memory = (moving_seconds * (1.0 - 1e-9) * 1e9) as u64;
        let labels = units.into_iter().map(|(label, _)| label);
        Self { period: Nanoseconds(by_work.max(by_memory)), shares: labels.zip(shares).collect() }
    }
}

/// Parts of the board's worth, in whole billionths.
const BILLION: u64 = 1_000_000_000;

/// What all cores of each unit are worth, rounded so that they are worth a billion together.
fn shares(weights: &[f64], units: &[(String, usize)]) -> Vec<u64> {
    let worth = weights.iter().zip(units).map(|(weight, (_, count))| weight * *count as f64 * BILLION as f64);
    let mut shares: Vec<u64> = worth.map(|worth| worth as u64).collect();
    let mut left = BILLION.saturating_sub(shares.iter().sum());
    if let Some(largest) = shares.iter_mut().max() {
        *largest += std::mem::take(&mut left);
    }
    shares
}

/// What a frame is worth at least by these shares, in nanoseconds of the whole board, without any rounding on the way; `None` if that is too large
/// to be added up.
fn exact_bound(work: &[Vec<Option<u64>>], units: &[(String, usize)], shares: &[u64]) -> Option<u64> {
    let counts = units.iter().map(|(_, count)| *count as u128);
    let multiple = counts.clone().try_fold(1_u128, |known, own| (known / divisor(known, own)).checked_mul(own))?;
    let of_operator = |own: &Vec<Option<u64>>| {
        let prices = own.iter().zip(counts.clone()).zip(shares).filter_map(|((own, count), share)| {
            Some((u128::from((*own)?) * u128::from(*share)).saturating_mul(multiple / count))
        });
        prices.min().unwrap_or(0)
    };
    let worth = work.iter().map(of_operator).try_fold(0_u128, u128::checked_add)?;
    Some(u64::try_from(worth / multiple.checked_mul(u128::from(BILLION))?).unwrap_or(u64::MAX))
}

/// The largest number that divides both.
fn divisor(one: u128, other: u128) -> u128 {
    if other == 0 { one } else { divisor(other, one % other) }
}

/// Bytes that a frame moves to and from memory at least.
fn moved_bytes(graph: &Graph, table: &CostTable) -> f64 {
    let takes_time = |operator: usize| {
        let mut times = table.processors().filter_map(|processor| table.time(processor, operator));
        times.all(|time| time > Nanoseconds::ZERO)
    };
    let moving = graph.operator_ids().filter(|id| takes_time(id.index()));
    moving.map(|id| graph.operator(id).work.bytes()).sum::<u64>() as f64
}

/// For every operator, the numbers of channels that it may be divided by: its own, and those of operators that it follows.
pub(crate) fn divisions(graph: &Graph) -> Vec<Vec<usize>> {
    let mut divisions = vec![Vec::new(); graph.operators().len()];
    for head in graph.operator_ids() {
        let Some(units) = graph.channel_units(head) else { continue };
        for id in std::iter::once(head).chain(graph.channel_followers(head)) {
            divisions[id.index()].push(units.channels);
        }
    }
    divisions
}

/// Whether processors may make tiles of an operator's rows. A tile never takes less than its share.
pub(crate) fn may_be_tiled(graph: &Graph, table: &CostTable, id: OperatorId) -> bool {
    let is_local = graph.operator(id).locality != Locality::Global;
    is_local && table.processors().any(|processor| table.rows(processor, id.index()).is_some())
}

/// The least core-nanoseconds of an operator on a cluster, whole or by the share of a part; `None` where it can't run.
fn core_nanoseconds(
    (label, count): &(String, usize),
    operator: usize,
    divisions: &[usize],
    table: &CostTable,
) -> Option<u64> {
    let of_class = |(processor, count): (ProcessorIndex, usize)| {
        let time = table.time(processor, operator)?;
        let part = table.part(processor, operator);
        let least = divisions.iter().map(|&of| least_per_share(&part, of)).fold(1.0, f64::min);
        let whole = time.0.saturating_mul(count as u64);
        Some(if least < 1.0 { (whole as f64 * least) as u64 } else { whole })
    };
    let of_count = |count: usize| table.with_any_engine(label, count).map(move |processor| (processor, count));
    (1..=*count).flat_map(of_count).filter_map(of_class).min()
}

/// The least time of a part for its share of all channels, in terms of the time of the whole: below 1 where the last wave is not full.
pub(crate) fn least_per_share(part: &PartCost, of: usize) -> f64 {
    let wave = part.wave.max(1);
    if wave == 1 {
        return 1.0;
    }
    let full = (1..=of.div_ceil(wave)).map(|waves| (waves * wave).min(of));
    full.map(|channels| part.fraction(channels, of) * of as f64 / channels as f64).fold(1.0, f64::min)
}

struct Demands {
    /// Cores of each cluster.
    counts: Vec<f64>,
    /// Core-seconds per operator and cluster.
    operators: Vec<Vec<f64>>,
}

impl Demands {
    /// The least that a frame is worth.
    fn bound(&self, weights: &[f64]) -> f64 {
        let cheapest = |own: &Vec<f64>| {
            let costs = own.iter().zip(weights).filter(|(seconds, _)| seconds.is_finite());
            costs.map(|(seconds, weight)| seconds * weight).reduce(f64::min).unwrap_or(0.0)
        };
        self.operators.iter().map(cheapest).sum()
    }

    /// Weights that give a high bound. First the clusters that operators choose become dearer, step by step; then weight is moved between
    /// two clusters as long as that helps. The bound is concave in the weights, so the best exchange is found by narrowing down.
    fn best_weights(&self) -> Vec<f64> {
        let mut weights = self.balanced_weights();
        for _ in 0..ROUNDS {
            let before = self.bound(&weights);
            for from in 0..weights.len() {
                for to in 0..from {
                    weights = self.best_exchange(&weights, from, to);
                }
            }
            if self.bound(&weights) <= before * (1.0 + 1e-7) {
                break;
            }
        }
        weights
    }

    /// The best of the weights that are met while the more loaded of the clusters become dearer (multiplicative weights).
    fn balanced_weights(&self) -> Vec<f64> {
        let mut shares = vec![1.0 / self.counts.len().max(1) as f64; self.counts.len()];
        let mut best = self.weights_of(&shares);
        for step in 0..PRICE_STEPS {
            let loads = self.loads(&self.weights_of(&shares));
            let highest = loads.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
            let rate = PRICE_RATE / (1.0 + step as f64).sqrt();
            shares.iter_mut().zip(&loads).for_each(|(share, load)| *share *= (rate * load / highest).exp());
            let all: f64 = shares.iter().sum();
            shares.iter_mut().for_each(|share| *share /= all);
            let weights = self.weights_of(&shares);
            if self.bound(&weights) > self.bound(&best) {
                best = weights;
            }
        }
        best
    }

    /// What a core of each cluster is worth if all its cores have this share of everything.
    fn weights_of(&self, shares: &[f64]) -> Vec<f64> {
        shares.iter().zip(&self.counts).map(|(share, count)| share / count.max(1.0)).collect()
    }

    /// Time that each cluster works for a frame if every operator is where it is cheapest.
    fn loads(&self, weights: &[f64]) -> Vec<f64> {
        let mut loads = vec![0.0; self.counts.len()];
        for costs in &self.operators {
            let of_unit = |unit: &usize| costs[*unit] * weights[*unit];
            let usable = (0..costs.len()).filter(|&unit| costs[unit].is_finite());
            if let Some(unit) = usable.min_by(|one, other| of_unit(one).total_cmp(&of_unit(other))) {
                loads[unit] += costs[unit] / self.counts[unit].max(1.0);
            }
        }
        loads
    }

    /// The best division between two clusters of the worth that they have together.
    fn best_exchange(&self, weights: &[f64], from: usize, to: usize) -> Vec<f64> {
        let worth = weights[from] * self.counts[from] + weights[to] * self.counts[to];
        let divided = |share: f64| {
            let mut divided = weights.to_vec();
            divided[from] = share * worth / self.counts[from].max(1.0);
            divided[to] = (1.0 - share) * worth / self.counts[to].max(1.0);
            divided
        };
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..STEPS {
            let (left, right) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
            match self.bound(&divided(left)) < self.bound(&divided(right)) {
                true => low = left,
                false => high = right,
            }
        }
        let found = divided((low + high) / 2.0);
        if self.bound(&found) > self.bound(weights) { found } else { weights.to_vec() }
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
        // Two that are alike must become dearer together, until a core is worth a tenth of them: 1/22, as there are two of each.
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
