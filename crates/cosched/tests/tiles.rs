//! Divisions by rows against all divisions there are.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::ops::Range;

use millstream_cosched::exact_tiles;
use millstream_cost::Nanoseconds;
use millstream_schedule::execution::ProcessorId;
use proptest::prelude::*;

/// Every way to divide rows between processors in their order.
fn divisions(rows: usize, processors: usize) -> Vec<Vec<usize>> {
    if processors == 1 {
        return vec![vec![rows]];
    }
    let rest =
        |own: usize| divisions(rows - own, processors - 1).into_iter().map(move |rest| [vec![own], rest].concat());
    (0..=rows).flat_map(rest).collect()
}

fn latest(shares: &[usize], cost: &impl Fn(ProcessorId, Range<usize>) -> Option<Nanoseconds>) -> Option<Nanoseconds> {
    let mut start = 0;
    let mut latest = Nanoseconds::ZERO;
    for (processor, &share) in ProcessorId::all(shares.len()).zip(shares) {
        if share > 0 {
            latest = latest.max(cost(processor, start..start + share)?);
        }
        start += share;
    }
    Some(latest)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// Every row has a cost of its own on every processor, rows around a tile are made as well, and some processors
    /// can't make any, or only so many.
    #[test]
    fn exact_tiles_are_the_least_of_all_divisions(
        costs in prop::collection::vec((0_usize..12, prop::collection::vec(0_u64..30, 9), 0_u64..20), 1..=4),
        rows in 1_usize..10, halo in 0_usize..3,
    ) {
        let cost = |processor: ProcessorId, tile: Range<usize>| {
            let (most, of_rows, start) = &costs[processor.index()];
            let made = tile.start.saturating_sub(halo)..(tile.end + halo).min(rows);
            (tile.len() <= *most).then(|| Nanoseconds(start + of_rows[made].iter().sum::<u64>()))
        };
        let least = divisions(rows, costs.len()).iter().filter_map(|shares| latest(shares, &cost)).min();
        let found = exact_tiles(rows, costs.len(), cost);
        prop_assert_eq!(found.as_ref().map(|found| found.latest), least);
        if let Some(found) = found {
            prop_assert_eq!(found.made.iter().sum::<usize>(), rows);
            prop_assert_eq!(latest(&found.made, &cost), least);
        }
    }
}
