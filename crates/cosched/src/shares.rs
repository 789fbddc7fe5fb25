//! The best division of channels between any number of processors.

use millstream_cost::Nanoseconds;
use millstream_schedule::execution::ProcessorId;

/// What each processor makes, and when the last part is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shares {
    /// Channels, or rows, that each processor makes.
    pub made: Vec<usize>,
    /// The latest of the parts' times.
    pub latest: Nanoseconds,
}

/// The division of `channels` among so many `processors` whose last part is done first. `cost(processor, n)` says when a processor has made `n`
/// channels, all processors starting at once; `None` if it can't. Costs may be any functions; a processor that makes
/// nothing counts for nothing. Divisions lie at multiples of `unit` channels. `None` if no division is possible.
///
/// Exact. Where more channels never take less time, by looking for the shortest time in which all processors together
/// can make them; otherwise by dynamic programming over (processors, channels), which looks at every number of channels
/// of every processor.
pub fn exact_shares(
    channels: usize,
    unit: usize,
    processors: usize,
    cost: impl Fn(ProcessorId, usize) -> Option<Nanoseconds>,
) -> Option<Shares> {
    let unit = unit.max(1);
    let units = channels / unit;
    if units * unit != channels || processors == 0 {
        return None;
    }
    let costs: Vec<Vec<Option<Nanoseconds>>> = ProcessorId::all(processors)
        .map(|processor| {
            (0..=units)
                .map(|count| if count == 0 { Some(Nanoseconds::ZERO) } else { cost(processor, count * unit) })
                .collect()
        })
        .collect();
    let found = if costs.iter().all(|row| is_monotonic(row)) { by_time(&costs) } else { by_count(&costs) };
    found.map(|Shares { made, latest }| Shares { made: made.into_iter().map(|units| units * unit).collect(), latest })
}

/// Whether more never takes less; what can't be made takes forever.
fn is_monotonic(costs: &[Option<Nanoseconds>]) -> bool {
    const FOREVER: Nanoseconds = Nanoseconds(u64::MAX);
    costs.windows(2).all(|pair| pair[0].unwrap_or(FOREVER) <= pair[1].unwrap_or(FOREVER))
}

/// In units, for costs that never fall.
fn by_time(costs: &[Vec<Option<Nanoseconds>>]) -> Option<Shares> {
    let units = costs.first()?.len() - 1;
    let most = |row: &[Option<Nanoseconds>], time: Nanoseconds| {
        row.partition_point(|cost| cost.is_some_and(|cost| cost <= time)).saturating_sub(1)
    };
    let is_enough = |time: Nanoseconds| costs.iter().map(|row| most(row, time)).sum::<usize>() >= units;
    let longest = costs.iter().flatten().flatten().copied().max()?;
    if !is_enough(longest) {
        return None;
    }
    let (mut short, mut long) = (Nanoseconds::ZERO, longest);
    while short < long {
        let middle = Nanoseconds(short.0 + (long.0 - short.0) / 2);
        if is_enough(middle) { long = middle } else { short = middle + Nanoseconds(1) }
    }
    let mut left = units;
    let take = |row: &Vec<Option<Nanoseconds>>| {
        let share = most(row, long).min(left);
        left -= share;
        share
    };
    Some(Shares { made: costs.iter().map(take).collect(), latest: long })
}

/// In units, for any costs.
fn by_count(costs: &[Vec<Option<Nanoseconds>>]) -> Option<Shares> {
    let processors = costs.len();
    let units = costs.first()?.len() - 1;
    // Latest part of the first processors if they make so many units, and what the last of them makes of these.
    let mut best: Vec<Option<Nanoseconds>> = vec![None; units + 1];
    best[0] = Some(Nanoseconds::ZERO);
    let mut choices: Vec<Vec<usize>> = Vec::with_capacity(processors);
    for (place, row) in costs.iter().enumerate() {
        let mut next = vec![None; units + 1];
        let mut choice = vec![0; units + 1];
        // The last processor makes what is left: only the whole matters.
        let totals = if place + 1 == processors { units..=units } else { 0..=units };
        for total in totals {
            for (count, cost) in row.iter().enumerate().take(total + 1) {
                if let (Some(cost), Some(rest)) = (cost, best[total - count]) {
                    let latest = rest.max(*cost);
                    if next[total].is_none_or(|known| latest < known) {
                        (next[total], choice[total]) = (Some(latest), count);
                    }
                }
            }
        }
        best = next;
        choices.push(choice);
    }

    let latest = best[units]?;
    let mut shares = vec![0; processors];
    let mut left = units;
    for (share, choice) in shares.iter_mut().zip(&choices).rev() {
        *share = choice[left];
        left -= choice[left];
    }
    Some(Shares { made: shares, latest })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Every division, one by one.
    fn brute_force(left: usize, unit: usize, costs: &[Vec<Option<u64>>]) -> Option<u64> {
        let Some((row, others)) = costs.split_first() else { return (left == 0).then_some(0) };
        let shares = (0..=left).step_by(unit);
        shares
            .filter_map(|share| {
                let rest = brute_force(left - share, unit, others)?;
                Some(rest.max(if share == 0 { 0 } else { row[share]? }))
            })
            .min()
    }

    proptest! {
        /// Whatever the costs: waves, start-up, gaps, or nothing sensible at all.
        #[test]
        fn no_division_is_better(
            units in 1_usize..7,
            unit in 1_usize..4,
            costs in prop::collection::vec(prop::collection::vec(prop::option::weighted(0.9, 0_u64..50), 20), 1..4),
        ) {
            check(units, unit, &costs)?;
            let mut sorted = costs;
            sorted.iter_mut().for_each(|row| row.sort_by_key(|cost| cost.unwrap_or(u64::MAX)));
            check(units, unit, &sorted)?;
        }
    }

    fn check(units: usize, unit: usize, costs: &[Vec<Option<u64>>]) -> Result<(), TestCaseError> {
        let channels = units * unit;
        let cost = |processor: ProcessorId, count: usize| costs[processor.index()][count].map(Nanoseconds);
        let found = exact_shares(channels, unit, costs.len(), cost);
        prop_assert_eq!(found.as_ref().map(|shares| shares.latest.0), brute_force(channels, unit, costs));
        if let Some(Shares { made: shares, latest }) = found {
            prop_assert_eq!(shares.iter().sum::<usize>(), channels);
            prop_assert!(shares.iter().all(|share| share % unit == 0));
            let parts = shares.iter().zip(costs).filter(|(share, _)| **share > 0);
            prop_assert_eq!(parts.filter_map(|(&share, cost)| cost[share]).max(), Some(latest.0));
        }
        Ok(())
    }

    #[test]
    fn waves_are_filled() {
        // 8 at once in 10 each, against 3 each: 16 + 7 = two full waves beside seven channels.
        let cost = |processor: ProcessorId, count: usize| match processor.index() {
            0 => Some(Nanoseconds(10 * count.div_ceil(8) as u64)),
            _ => Some(Nanoseconds(3 * count as u64)),
        };
        assert_eq!(exact_shares(22, 1, 2, cost), Some(Shares { made: vec![16, 6], latest: Nanoseconds(20) }));
        assert_eq!(exact_shares(22, 4, 2, cost), None, "22 channels do not come in fours");
    }
}
