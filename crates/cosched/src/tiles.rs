//! The best division of rows between any number of processors.

use std::ops::Range;

use millstream_cost::Nanoseconds;
use millstream_schedule::execution::ProcessorId;

use crate::shares::Shares;

/// The division of `rows` into tiles whose last one is done first: the first processor makes the first rows, and so on;
/// a processor may make none. `cost(processor, tile)` says when a processor has made a tile, all processors starting at
/// once; `None` if it can't. What one can't, it can't with more rows either. `None` if no division is possible.
///
/// Exact, for costs that never fall when a tile gets more rows: for any time, the division in which every processor in
/// turn takes as many rows as it can within that time gets furthest, so that the least time in which all rows are made
/// is found by narrowing down.
pub fn exact_tiles(
    rows: usize,
    processors: usize,
    cost: impl Fn(ProcessorId, Range<usize>) -> Option<Nanoseconds>,
) -> Option<Shares> {
    let alone = ProcessorId::all(processors).filter_map(|processor| Some((cost(processor, 0..rows)?, processor)));
    let mut best = match alone.min() {
        Some((latest, home)) => {
            let mut made = vec![0; processors];
            made[home.index()] = rows;
            Shares { made, latest }
        }
        // Perhaps several can do together what none can do alone.
        None => within(rows, processors, Nanoseconds(u64::MAX), &cost)?,
    };

    let mut too_short = Nanoseconds::ZERO;
    while too_short.0 + 1 < best.latest.0 {
        // Once the best is close, it is most likely the least.
        let between = best.latest.0 - too_short.0;
        let is_close = between <= (best.latest.0 / 128).max(2);
        let time = if is_close { best.latest - Nanoseconds(1) } else { too_short + Nanoseconds(between / 2) };
        match within(rows, processors, time, &cost) {
            Some(found) => best = found,
            None => too_short = time,
        }
    }
    Some(best)
}

/// A division in which no tile takes more than `time`.
fn within(
    rows: usize,
    processors: usize,
    time: Nanoseconds,
    cost: &impl Fn(ProcessorId, Range<usize>) -> Option<Nanoseconds>,
) -> Option<Shares> {
    let mut shares = Shares { made: Vec::with_capacity(processors), latest: Nanoseconds::ZERO };
    let mut start = 0;
    for processor in ProcessorId::all(processors) {
        let cost_until = |end: usize| cost(processor, start..end).filter(|&cost| cost <= time);
        // The furthest end is at `reached` or after it, and before `beyond`.
        let (mut reached, mut beyond, mut latest) = (start, rows + 1, Nanoseconds::ZERO);
        while reached + 1 < beyond {
            let end = if beyond > rows && reached == start { rows } else { reached + (beyond - reached) / 2 };
            match cost_until(end) {
                Some(cost) => (reached, latest) = (end, cost),
                None => beyond = end,
            }
        }
        shares.made.push(reached - start);
        shares.latest = shares.latest.max(latest);
        start = reached;
    }
    (start == rows).then_some(shares)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row takes 10 on the one and 30 on the other, and so does each of up to two rows around a tile.
    #[test]
    fn halos_count() {
        let cost = |processor: ProcessorId, tile: Range<usize>| {
            let made = (tile.end + 1).min(16) - tile.start.saturating_sub(1);
            Some(Nanoseconds(made as u64 * if processor.index() == 0 { 10 } else { 30 }))
        };
        let found = exact_tiles(16, 2, cost);
        // 12 + 1 rows of 10, and 4 + 1 of 30; with 13 and 3 rows: 140 and 120.
        assert_eq!(found, Some(Shares { made: vec![13, 3], latest: Nanoseconds(140) }));
        assert_eq!(exact_tiles(16, 2, |_, _| None), None);
        let only = |processor: ProcessorId, tile: Range<usize>| {
            (processor.index() == 1).then(|| Nanoseconds(tile.len() as u64))
        };
        assert_eq!(exact_tiles(4, 3, only), Some(Shares { made: vec![0, 4, 0], latest: Nanoseconds(4) }));
    }
}
