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

/// The division of `channels` among so many `processors` whose last part is done first. `cost(processor, n)` says when
/// a processor has made `n` channels, all processors starting at once; `None` if it can't. Costs may be any functions;
/// a processor that makes nothing counts for nothing. Divisions lie at multiples of `unit` channels. `None` if no
/// division is possible.
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
    exact_shares_by(channels, unit, processors, false, cost)
}

/// The same where the caller may know that more channels never take less time (`never_fall`): of many channels, it asks
/// for the costs of few numbers then.
pub(crate) fn exact_shares_by(
    channels: usize,
    unit: usize,
    processors: usize,
    never_fall: bool,
    cost: impl Fn(ProcessorId, usize) -> Option<Nanoseconds>,
) -> Option<Shares> {
    let unit = unit.max(1);
    let units = channels / unit;
    if units * unit != channels || processors == 0 {
        return None;
    }
    let of_units = |processor: ProcessorId, count: usize| {
        if count == 0 { Some(Nanoseconds::ZERO) } else { cost(processor, count * unit) }
    };
    let Shares { made, latest } = if never_fall && units >= MANY_UNITS {
        by_time(units, processors, of_units)
    } else {
        by_all_costs(units, processors, of_units)
    }?;
    Some(Shares { made: made.into_iter().map(|units| units * unit).collect(), latest })
}

/// From so many units on, looking for a time asks for fewer costs than there are.
const MANY_UNITS: usize = 48;

/// In units, for any costs, of which all are asked for.
fn by_all_costs(
    units: usize,
    processors: usize,
    cost: impl Fn(ProcessorId, usize) -> Option<Nanoseconds>,
) -> Option<Shares> {
    let row = |processor: ProcessorId| (0..=units).map(|count| cost(processor, count)).collect();
    let costs: Vec<Vec<Option<Nanoseconds>>> = ProcessorId::all(processors).map(row).collect();
    if costs.iter().all(|row| is_monotonic(row)) {
        by_time(units, processors, |processor, count| costs[processor.index()][count])
    } else {
        by_count(&costs)
    }
}

/// Whether more never takes less; what can't be made takes forever.
fn is_monotonic(costs: &[Option<Nanoseconds>]) -> bool {
    const FOREVER: Nanoseconds = Nanoseconds(u64::MAX);
    costs.windows(2).all(|pair| pair[0].unwrap_or(FOREVER) <= pair[1].unwrap_or(FOREVER))
}

/// In units, for costs that never fall.
///
/// By bisection of the time in which all processors together can make them. How many units each makes in the times that
/// are left is known from both ends, so that only those between are looked at.
fn by_time(
    units: usize,
    processors: usize,
    cost: impl Fn(ProcessorId, usize) -> Option<Nanoseconds>,
) -> Option<Shares> {
    // The most that a processor makes by some condition, between what it makes at least and at most.
    let most = |from: usize, to: usize, is_made: &dyn Fn(usize) -> bool| {
        let (mut from, mut to) = (from, to);
        while from < to {
            let middle = from + (to - from).div_ceil(2);
            if is_made(middle) { from = middle } else { to = middle - 1 }
        }
        from
    };
    let ids = || ProcessorId::all(processors);
    let all_able = ids().map(|id| most(0, units, &|count| cost(id, count).is_some()));
    let (mut least, mut largest) = (vec![0; processors], all_able.collect::<Vec<usize>>());
    if largest.iter().sum::<usize>() < units {
        return None;
    }

    let longest = ids().zip(&largest).filter_map(|(id, &count)| cost(id, count)).max()?;
    let (mut short, mut long) = (Nanoseconds::ZERO, longest);
    while short < long {
        let middle = Nanoseconds(short.0 + (long.0 - short.0) / 2);
        let in_time = |id: ProcessorId| {
            let is_made = |count: usize| cost(id, count).is_some_and(|cost| cost <= middle);
            most(least[id.index()], largest[id.index()], &is_made)
        };
        let made: Vec<usize> = ids().map(in_time).collect();
        if made.iter().sum::<usize>() >= units {
            (long, largest) = (middle, made);
        } else {
            (short, least) = (middle + Nanoseconds(1), made);
        }
    }

    let mut left = units;
    let take = |most: &usize| {
        let share = left.min(*most);
        left -= share;
        share
    };
    Some(Shares { made: largest.iter().map(take).collect(), latest: long })
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
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
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

    /// In the least time for all, every processor in turn makes as much as it can of what is left.
    fn by_every_time(units: usize, costs: &[Vec<u64>]) -> Option<(Vec<usize>, u64)> {
        let most = |row: &Vec<u64>, time: u64| (1..=units).filter(|&count| row[count] <= time).count();
        let times = costs.iter().flatten().copied().collect::<std::collections::BTreeSet<u64>>();
        let latest = times.into_iter().find(|&time| costs.iter().map(|row| most(row, time)).sum::<usize>() >= units)?;
        let mut left = units;
        let take = |row: &Vec<u64>| {
            let share = most(row, latest).min(left);
            left -= share;
            share
        };
        Some((costs.iter().map(take).collect(), latest))
    }

    proptest! {
        #[test]
        fn few_costs_are_enough_where_they_never_fall(
            units in MANY_UNITS..100,
            unit in 1_usize..4,
            mut costs in prop::collection::vec(prop::collection::vec(1_u64..400, 101), 1..4),
        ) {
            costs.iter_mut().for_each(|row| row.sort_unstable());
            let cost = |processor: ProcessorId, count: usize| {
                Some(Nanoseconds(costs[processor.index()][count / unit]))
            };
            let found = exact_shares_by(units * unit, unit, costs.len(), true, cost);
            let (made, latest) = by_every_time(units, &costs).unwrap();
            let made = made.into_iter().map(|count| count * unit).collect();
            prop_assert_eq!(found, Some(Shares { made, latest: Nanoseconds(latest) }));
            let asked = std::cell::Cell::new(0);
            let counted = |processor: ProcessorId, count: usize| {
                asked.set(asked.get() + 1);
                cost(processor, count)
            };
            exact_shares_by(units * unit, unit, costs.len(), true, counted);
            prop_assert!(asked.get() <= MANY_UNITS * costs.len(), "{} costs", asked.get());
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
