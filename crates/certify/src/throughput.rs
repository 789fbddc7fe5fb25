//! The bound on all schedules.

use millstream_board::Board;
use millstream_cost::{ClassId, CostTable, Nanoseconds};
use millstream_graph::{Graph, Locality, OperatorId};

use crate::certificate::ThroughputProof;
use crate::comparing::nanoseconds;
use crate::error::CertifyError;
use crate::part_shares::least_by_share;

const BILLION: u128 = 1_000_000_000;

/// Works out the bound that the shares prove.
///
/// An operator on `n` cores of a cluster takes `n` times its time with the engine that is quickest; by the part of its
/// channels that any part of it makes, at most so much less as waves of channels allow; by its rows, no part takes less
/// than its share. Its cheapest cluster counts. Where the board says what its memory moves, no operator is faster than
/// that, and no frame than what all its operators move.
///
/// # Errors
/// [`CertifyError::Shares`] if the shares are not a division of the board, [`CertifyError::Number`] if the bound is
/// another one.
pub fn check_throughput(
    proof: &ThroughputProof,
    graph: &Graph,
    board: &Board,
    table: &CostTable,
) -> Result<(), CertifyError> {
    let shares = shares(proof, board)?;
    let rate = board.memory_bytes_per_second();
    let costs = &table.within_memory_of(board, graph);

    // Channels that each operator may be divided by, with others or alone.
    let mut channels: Vec<Vec<usize>> = vec![Vec::new(); graph.operators().len()];
    for head in graph.operator_ids() {
        if let Some(units) = graph.channel_units(head) {
            channels[head.index()].push(units.channels);
            graph.channel_followers(head).iter().for_each(|id| channels[id.index()].push(units.channels));
        }
    }
    // Nothing is proven by sums that are too large.
    let by_work = priced_work(&shares, &channels, costs).unwrap_or(0);
    // Parts of an operator are rounded to nanoseconds, half of one at most for all of them, on cores that are worth 1
    // together; and so was the whole.
    let has_tiles = |id: OperatorId| table.class_ids().any(|processor| table.rows(processor, id).is_some());
    let is_tiled = |id: OperatorId| graph.operator(id).locality != Locality::Global && has_tiles(id);
    let is_divided = |id: &OperatorId| !channels[id.index()].is_empty() || is_tiled(*id);
    let divided = graph.operator_ids().filter(is_divided).count();
    let bound =
        by_work.saturating_sub(divided as u64).max(rate.map_or(0, |rate| memory_nanoseconds(graph, table, rate)));
    nanoseconds("the bound on all schedules [ns]", proof.period_nanoseconds, bound)
}

/// The least work of a frame by the clusters' dual prices, in nanoseconds of the whole board; `None` if that is too
/// large to be added up.
fn priced_work(shares: &[(&str, usize, u64)], channels: &[Vec<usize>], costs: &CostTable) -> Option<u64> {
    // In parts of a billionth of a nanosecond, divided by what all numbers of cores divide.
    let multiple = common_multiple(shares.iter().map(|(_, cores, _)| *cores))?;
    let mut work = 0_u128;
    for (operator, channels) in OperatorId::all(channels.len()).zip(channels) {
        let price = |(label, cores, parts): &(&str, usize, u64)| {
            let core_nanoseconds = least_work(costs, label, *cores, operator, channels)?;
            let price = u128::from(core_nanoseconds) * u128::from(*parts);
            Some(price.saturating_mul(multiple / *cores as u128))
        };
        let least = shares.iter().filter_map(price).min().unwrap_or(0);
        work = work.checked_add(least)?;
    }
    Some(u64::try_from(work / BILLION.checked_mul(multiple)?).unwrap_or(u64::MAX))
}

/// The least number that all of these divide; `None` if it is too large.
fn common_multiple(mut all: impl Iterator<Item = usize>) -> Option<u128> {
    all.try_fold(1_u128, |multiple, count| {
        let (mut divisor, mut rest) = (multiple, count.max(1) as u128);
        while rest > 0 {
            (divisor, rest) = (rest, divisor % rest);
        }
        (multiple / divisor).checked_mul(count.max(1) as u128)
    })
}

/// Label, number of cores and dual price, in parts of a billion, of each cluster and accelerator of the board.
fn shares<'a>(proof: &ThroughputProof, board: &'a Board) -> Result<Vec<(&'a str, usize, u64)>, CertifyError> {
    let clusters = board.clusters().iter().map(|cluster| (cluster.label.as_str(), cluster.cores.len()));
    let units: Vec<(&str, usize)> =
        clusters.chain(board.accelerators().iter().map(|accelerator| (accelerator.label.as_str(), 1))).collect();
    let wrong = |detail: String| Err(CertifyError::Shares { detail });
    let named: Vec<&str> = proof.shares.iter().map(|share| share.label.as_str()).collect();
    let expected: Vec<&str> = units.iter().map(|(label, _)| *label).collect();
    if named != expected {
        return wrong(format!("they are of {}, the board has {}", named.join(", "), expected.join(", ")));
    }
    let sum: u128 = proof.shares.iter().map(|share| u128::from(share.parts)).sum();
    if sum != BILLION {
        return wrong(format!("they sum up to {sum} parts, not to a billion"));
    }
    Ok(units.into_iter().zip(&proof.shares).map(|((label, cores), share)| (label, cores, share.parts)).collect())
}

/// The least core-nanoseconds of an operator on some cores of a cluster, by the share of its channels that is made.
fn least_work(table: &CostTable, label: &str, cores: usize, operator: OperatorId, channels: &[usize]) -> Option<u64> {
    let on = |(count, processor): (usize, ClassId)| {
        let whole = table.time(processor, operator)?.0.saturating_mul(count as u64);
        let part = table.part(processor, operator);
        let least = channels.iter().map(|&of| least_by_share(part, of)).fold(1.0, f64::min);
        Some(if least < 1.0 { (whole as f64 * least) as u64 } else { whole })
    };
    let engines = |count: usize| table.with_any_engine(label, count).map(move |processor| (count, processor));
    (1..=cores).flat_map(engines).filter_map(on).min()
}

/// What moving a frame's values and weights takes.
fn memory_nanoseconds(graph: &Graph, table: &CostTable, rate: f64) -> u64 {
    let moves = |operator: OperatorId| {
        table.class_ids().all(|processor| table.time(processor, operator) != Some(Nanoseconds::ZERO))
    };
    let bytes: u64 = graph.operator_ids().filter(|id| moves(*id)).map(|id| graph.operator(id).work.bytes()).sum();
    (bytes as f64 / rate * (1.0 - 1e-9) * 1e9) as u64
}
