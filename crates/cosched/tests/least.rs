//! Divisions against all divisions there are, and cases worked by hand.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod small;

use millstream_cosched::{Shares, Split, exact_shares, exact_split, published_split};
use millstream_cost::{Nanoseconds, PartCost};
use millstream_schedule::Replica;
use millstream_schedule::execution::ProcessorId;
use proptest::prelude::*;
use small::{Network, Step};

/// Every way to divide so many units between so many processors.
fn divisions(units: usize, processors: usize) -> Vec<Vec<usize>> {
    if processors == 1 {
        return vec![vec![units]];
    }
    let rest =
        |own: usize| divisions(units - own, processors - 1).into_iter().map(move |rest| [vec![own], rest].concat());
    (0..=units).flat_map(rest).collect()
}

/// The least of what the latest part takes over all divisions.
fn least(units: usize, unit: usize, costs: &[Vec<Option<u64>>]) -> Option<u64> {
    let latest = |shares: Vec<usize>| {
        let parts = shares.iter().zip(costs).filter(|(share, _)| **share > 0);
        parts.map(|(share, cost)| cost[share * unit]).try_fold(0, |latest, cost| Some(latest.max(cost?)))
    };
    divisions(units, costs.len()).into_iter().filter_map(latest).min()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// Whatever the costs: they may fall, jump, or be missing.
    #[test]
    fn exact_shares_are_the_least_of_all_divisions(
        units in 1_usize..9, unit in 1_usize..4, is_sorted in any::<bool>(),
        costs in prop::collection::vec(prop::collection::vec(prop::option::weighted(0.9, 0_u64..30), 30), 1..=4),
    ) {
        let mut costs = costs;
        if is_sorted {
            costs.iter_mut().for_each(|own| own.sort_by_key(|cost| cost.unwrap_or(u64::MAX)));
        }
        let cost = |processor: ProcessorId, count: usize| costs[processor.index()][count].map(Nanoseconds);
        let found = exact_shares(units * unit, unit, costs.len(), cost);
        prop_assert_eq!(found.as_ref().map(|shares| shares.latest.0), least(units, unit, &costs));
        if let Some(Shares { made, latest }) = found {
            prop_assert_eq!(made.iter().sum::<usize>(), units * unit);
            prop_assert!(made.iter().all(|share| share % unit == 0), "{:?}", made);
            let parts = made.iter().zip(&costs).filter(|(share, _)| **share > 0);
            prop_assert_eq!(parts.map(|(&share, cost)| cost[share]).max(), Some(Some(latest.0)));
        }
    }

    #[test]
    fn exact_splits_are_the_least_of_all_with_the_fewest_channels_on_the_accelerator(
        accelerator in prop::collection::vec(0_u64..12, 2..20), cpu in prop::collection::vec(0_u64..12, 20),
    ) {
        let channels = accelerator.len() - 1;
        let time = |own: usize| accelerator[own].max(cpu[channels - own]);
        let best = (0..=channels).min_by_key(|&own| (time(own), own)).unwrap();
        let of = |costs: &[u64], count: u64| costs[usize::try_from(count).unwrap()] as f64;
        let found = exact_split(channels as u64, |count| of(&accelerator, count), |count| of(&cpu, count));
        prop_assert_eq!(found, Split { accelerator: best as u64, cpu: (channels - best) as u64 });
        prop_assert_eq!(found.seconds(|count| of(&accelerator, count), |count| of(&cpu, count)), time(best) as f64);
    }
}

/// 5 to 3 in speed, and all of it where the other one is out of reach.
#[test]
fn published_splits_are_in_proportion_to_speeds() {
    assert_eq!(published_split(16, 3.0, 5.0), Split { accelerator: 10, cpu: 6 });
    assert_eq!(published_split(16, 3.0, 0.0), Split { accelerator: 0, cpu: 16 });
    assert_eq!(published_split(16, 0.0, 5.0), Split { accelerator: 16, cpu: 0 });
}

#[test]
fn a_division_needs_processors_and_whole_units() {
    let cost = |_: ProcessorId, count: usize| Some(Nanoseconds(count as u64));
    assert_eq!(exact_shares(8, 2, 0, cost), None);
    assert_eq!(exact_shares(7, 2, 2, cost), None);
    assert_eq!(
        exact_shares(8, 0, 2, cost).map(|shares| shares.latest),
        Some(Nanoseconds(4)),
        "without a unit it is one"
    );
    // Neither can make more than three.
    assert_eq!(exact_shares(8, 1, 2, |_, count| (count <= 3).then_some(Nanoseconds(1))), None);
}

/// A convolution of 8 channels and an operator that needs all of them. The first core makes a channel in 100 ns and the
/// second one in 100 as well, so by its own cost the convolution is divided 4 to 4, done after 400. But the second
/// core's channels then take 110 ns each to get to the first one, where they are needed: 4 + 4 is complete after 400 +
/// 440, 5 + 3 after 300 + 330 = 630, and 6 + 2 after 600, when the first core is done with its own (200 + 220 on the
/// other side). 7 + 1 is complete after 700.
#[test]
fn divisions_are_shifted_to_where_the_whole_is_done_first() {
    let network = Network::new(8, 1, &[Step::Whole(50)], &[100, 100], 110, PartCost::default());
    let divided = network.divided();
    assert_eq!(divided.splits.len(), 1);
    assert_eq!(divided.splits[0].shares, [6, 2]);
    assert_eq!(network.finish(&divided), Some(Nanoseconds(650)));
}

/// The same in groups of two channels: only even shares are possible, and 6 + 2 is.
#[test]
fn shifts_keep_groups_whole() {
    let network = Network::new(8, 2, &[Step::Whole(50)], &[100, 100], 110, PartCost::default());
    assert_eq!(network.divided().splits[0].shares, [6, 2]);
    let network = Network::new(8, 4, &[Step::Whole(50)], &[100, 100], 90, PartCost::default());
    // 4 + 4 is complete after 400 + 360, earlier than 800.
    assert_eq!(
        (network.divided().splits[0].shares.clone(), network.finish(&network.divided())),
        (vec![4, 4], Some(Nanoseconds(810)))
    );
    let network = Network::new(8, 4, &[Step::Whole(50)], &[100, 100], 110, PartCost::default());
    assert_eq!(network.divided(), network.undivided(), "400 + 440 is later than 800");
}

/// What follows channel by channel is divided as well: 8 channels of 100 ns and an activation of 400 in all take 600 on
/// two equal cores, nothing moves between the two, and the channels that come back take 10 ns each.
#[test]
fn followers_are_divided_with_their_operator() {
    let network = Network::new(8, 1, &[Step::Follows(400), Step::Whole(50)], &[100, 100], 10, PartCost::default());
    let divided = network.divided();
    assert_eq!(divided.splits.len(), 1);
    assert_eq!((divided.splits[0].operators.len(), divided.splits[0].shares.clone()), (2, vec![4, 4]));
    // The second core's half is there after 600 + 40.
    assert_eq!(network.finish(&divided), Some(Nanoseconds(640 + 50)));
}

/// Starting on its own costs 300 on either core: half of 400 is not worth it, half of 800 is.
#[test]
fn what_running_apart_takes_counts() {
    let part = PartCost { apart: Nanoseconds(300), ..PartCost::default() };
    let small = Network::new(8, 1, &[], &[50, 50], 0, part);
    assert_eq!(small.divided(), small.undivided());
    let large = Network::new(8, 1, &[], &[100, 100], 0, part);
    assert_eq!(large.finish(&large.divided()), Some(Nanoseconds(700)));
}

/// The best of all divisions of the convolution, with followers or without, and of no division.
fn best_of_all(network: &Network) -> Nanoseconds {
    network.all_divisions().into_iter().filter_map(|replica| network.finish(&replica)).min().unwrap()
}

/// All replicas whose only division differs from this one's by a unit that one of its processors gives to another.
fn neighbours(network: &Network, replica: &Replica) -> Vec<Replica> {
    let Some(split) = replica.splits.first() else { return Vec::new() };
    let takers: Vec<usize> = (0..split.shares.len()).filter(|&position| split.shares[position] > 0).collect();
    let pairs = takers.iter().flat_map(|&from| takers.iter().map(move |&to| (from, to)));
    let moved = |(from, to): (usize, usize)| {
        let mut moved = replica.clone();
        moved.splits[0].shares[from] -= network.unit;
        moved.splits[0].shares[to] += network.unit;
        moved
    };
    pairs.filter(|&(from, to)| from != to && split.shares[from] > network.unit).map(moved).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Where a part's time rises evenly with its channels and nothing is faster than where the operator is, no division
    /// of it is better than the one that is found.
    #[test]
    fn the_division_of_one_operator_is_the_best_of_all(
        units in 2_usize..13, unit in 1_usize..3, mut cores in prop::collection::vec(20_u64..200, 2), per_channel in 0_u64..250,
        apart in 0_u64..300, tail in 0_u64..300,
    ) {
        cores.sort_unstable();
        let part = PartCost { apart: Nanoseconds(apart), ..PartCost::default() };
        let network = Network::new(units * unit, unit, &[Step::Whole(tail)], &cores, per_channel, part);
        prop_assert_eq!(network.finish(&network.divided()), Some(best_of_all(&network)));
    }

    /// Whatever the costs, it is better than none or there is none, and giving a unit from one processor to another one
    /// does not help.
    #[test]
    fn no_unit_is_better_elsewhere(
        units in 2_usize..13, unit in 1_usize..3, cores in prop::collection::vec(20_u64..200, 2..=3), per_channel in 0_u64..150,
        apart in 0_u64..100, tail in 0_u64..300, wave in 1_usize..5, fixed in 0.0..0.5_f64, follows in prop::option::of(0_u64..500),
    ) {
        let part = PartCost { apart: Nanoseconds(apart), wave, fixed_fraction: fixed };
        let steps: Vec<Step> = follows.map(Step::Follows).into_iter().chain([Step::Whole(tail)]).collect();
        let network = Network::new(units * unit, unit, &steps, &cores, per_channel, part);
        let divided = network.divided();
        let found = network.finish(&divided).unwrap();
        prop_assert!(found >= best_of_all(&network));
        if !divided.splits.is_empty() {
            prop_assert!(found <= network.finish(&network.undivided()).unwrap());
        }
        for neighbour in neighbours(&network, &divided) {
            prop_assert!(network.finish(&neighbour).unwrap() >= found, "{:?}", neighbour.splits);
        }
    }
}
