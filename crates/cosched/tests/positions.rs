//! Which operators are divided, where their parts go, and in which order that is tried: cases worked by hand.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod small;

use std::cell::RefCell;

use millstream_cosched::{Executed, divide};
use millstream_cost::{Nanoseconds, PartCost};
use millstream_graph::{Along, OperatorId};
use millstream_schedule::{OperatorSplit, Replica};
use small::{Network, Step};

const CONVOLUTION: Step = Step::Convolution { unit: 1, times: 1, macs: 1000 };

/// Three equal cores make three channels each.
#[test]
fn three_cores_share_an_operator() {
    let network = Network::new(9, 1, &[], &[100; 3], 0, PartCost::default());
    let divided = network.divided();
    assert_eq!(divided.splits[0].shares, [3, 3, 3]);
    assert_eq!(network.finish(&divided), Some(Nanoseconds(300)));
}

/// The third core takes as long for one channel as the others for five each: it gets none, and lists nothing.
#[test]
fn a_core_that_is_too_slow_gets_nothing() {
    let network = Network::new(10, 1, &[], &[100, 100, 600], 0, PartCost::default());
    let divided = network.divided();
    assert_eq!(divided.splits[0].shares, [5, 5, 0]);
    assert!(divided.assignments[2].operators.is_empty());
}

#[test]
fn what_is_not_free_stays_whole() {
    let network = Network::new(8, 1, &[Step::Follows(400)], &[100; 2], 0, PartCost::default());
    let divide = |free: &[usize]| {
        let free = network.ids(free);
        let is_free = |id| free.contains(&id);
        divide(network.undivided(), &network.graph, &network.table, is_free, |executed| executed.execution.makespan())
    };
    assert_eq!(divide(&[]), network.undivided());
    assert_eq!(divide(&[1]), network.undivided(), "an activation is divided with what it follows, not alone");
    assert_eq!(divide(&[0]).splits[0].operators, network.ids(&[0]));
    assert_eq!(divide(&[0, 1]).splits[0].operators, network.ids(&[0, 1]));
}

/// The activation follows the convolution, but the core does something else in between, so that it is not divided with
/// it: the convolution takes 400 on both, the other operator 50 and the activation 400.
#[test]
fn only_what_comes_next_on_its_core_is_divided_with_an_operator() {
    let nodes = [(CONVOLUTION, vec![0]), (Step::Follows(400), vec![1]), (Step::Whole(50), vec![0])];
    let network = Network::of(8, &nodes, &[100; 2], 0);
    let divided = network.divided_from(network.placed(&[&[0, 2, 1], &[]]));
    assert_eq!((divided.splits.len(), divided.splits[0].operators.clone()), (1, network.ids(&[0])));
    assert_eq!(network.finish(&divided), Some(Nanoseconds(400 + 50 + 400)));
}

/// The activation is on the other core, which has nothing else to do. Half of the convolution there saves 400 of 1200.
/// As it then may as well be there as a whole, the two can be divided together, which takes 400 + 200.
#[test]
fn what_follows_on_another_core_is_divided_once_it_is_next() {
    let nodes = [(CONVOLUTION, vec![0]), (Step::Follows(400), vec![1])];
    let network = Network::of(8, &nodes, &[100; 2], 0);
    let replica = network.placed(&[&[0], &[1]]);
    let first = asked(&network, replica.clone()).swap_remove(0);
    assert_eq!(
        (first.splits[0].operators.clone(), network.finish(&first)),
        (network.ids(&[0]), Some(Nanoseconds(800)))
    );
    let divided = network.divided_from(replica);
    assert_eq!(divided.splits[0].operators, network.ids(&[0, 1]));
    assert_eq!(network.finish(&divided), Some(Nanoseconds(600)));
}

/// Operator 0 takes 100 on the first core and the convolution, 1, reads it. Meanwhile the second core has 300 to do,
/// operator 2, and 200 more that it may do later, operator 3.
fn with_a_busy_core(apart: u64) -> (Network, Replica) {
    let nodes =
        [(Step::Whole(100), vec![0]), (CONVOLUTION, vec![1]), (Step::Whole(300), vec![0]), (Step::Whole(200), vec![2])];
    let mut network = Network::of(8, &nodes, &[100; 2], 10);
    let second = network.table.class_ids().nth(1).unwrap();
    network.table.set_part(second, OperatorId::new(1), PartCost { apart: Nanoseconds(apart), ..PartCost::default() });
    let replica = network.placed(&[&[0, 1], &[2, 3]]);
    (network, replica)
}

/// Divisions in the order in which the search asks about them.
fn asked(network: &Network, replica: Replica) -> Vec<Replica> {
    let asked = RefCell::new(Vec::new());
    let finish = |executed: Executed<'_>| {
        asked.borrow_mut().push(executed.replica.clone());
        executed.execution.makespan()
    };
    divide(replica, &network.graph, &network.table, |_| true, finish);
    let mut asked = asked.into_inner();
    asked.retain(|one| !one.splits.is_empty());
    asked
}

/// The first core can begin its part at 100. The second one is free at 300, and what the convolution reads takes 80 to
/// get there: it begins at 380. With 5 channels against 3 they end at 600 and 680, with 6 and 2 at 700 and 580. If
/// starting apart takes 50 more on the second core, 5 and 3 end at 730. The part comes after operator 2, which has
/// begun by then, and before operator 3.
#[test]
fn the_first_division_counts_when_cores_are_free_and_inputs_there() {
    for (apart, channels) in [(0, [5, 3]), (50, [6, 2])] {
        let (network, replica) = with_a_busy_core(apart);
        let first = asked(&network, replica).swap_remove(0);
        assert_eq!(first.splits[0].shares, channels, "{apart}");
        assert_eq!(first.assignments[0].operators, network.ids(&[0, 1]));
        assert_eq!(first.assignments[1].operators, network.ids(&[2, 1, 3]));
    }
}

/// The second core would begin operator 1 when the first one begins the convolution, at 0: the part comes first.
#[test]
fn a_part_comes_before_what_starts_at_the_same_moment() {
    let network = Network::of(8, &[(CONVOLUTION, vec![0]), (Step::Whole(300), vec![0])], &[100; 2], 0);
    let first = asked(&network, network.placed(&[&[0], &[1]])).swap_remove(0);
    assert_eq!(first.assignments[1].operators, network.ids(&[0, 1]));
}

/// Operator 1 takes no time and is done at 0 as well: something could depend on it, so that the part comes after it,
/// but before operator 2.
#[test]
fn a_part_comes_after_what_takes_no_time() {
    let nodes = [(CONVOLUTION, vec![0]), (Step::Whole(0), vec![0]), (Step::Whole(300), vec![0])];
    let network = Network::of(8, &nodes, &[100; 2], 0);
    let first = asked(&network, network.placed(&[&[0], &[1, 2]])).swap_remove(0);
    assert_eq!(first.assignments[1].operators, network.ids(&[1, 0, 2]));
}

/// A convolution and its activation are divided already: the first core is done with 2 channels of both at 200 + 100,
/// the second one with 6 at 600 + 300. The other convolution could begin at 300 on the first core, when the second one
/// is within what it has of the division: the part comes after all of that. Counted from 600, when the operator that
/// the second core has begun is done, 6 and 2 channels end at 900 and 800. In truth it is 900 and 1100, so that one
/// more is shifted to the first core: both end at 1000.
#[test]
fn parts_do_not_come_between_operators_that_are_divided_together() {
    let nodes = [(CONVOLUTION, vec![0]), (Step::Follows(400), vec![1]), (CONVOLUTION, vec![0])];
    let network = Network::of(8, &nodes, &[100; 2], 0);
    let mut replica = network.placed(&[&[0, 1, 2], &[0, 1]]);
    replica.splits.push(OperatorSplit { operators: network.ids(&[0, 1]), along: Along::Channels, shares: vec![2, 6] });
    let other = network.ids(&[2])[0];
    let divided =
        divide(replica, &network.graph, &network.table, |id| id == other, |executed| executed.execution.makespan());
    assert_eq!(divided.assignments[1].operators, network.ids(&[0, 1, 2]));
    assert_eq!(divided.splits[1].shares, [7, 1]);
    assert_eq!(network.finish(&divided), Some(Nanoseconds(1000)));
}

/// A channel takes 10 to the other core. The second convolution, 1, has more work and is looked at first: the second
/// core would have its input at 320 + 80, when the first one is done with all of it. Then the first one, 0, is divided:
/// 4 and 4 channels are together on the first core at 160 + 40, so that all ends at 280. Now the second core has the
/// input at 200 as well, and the second convolution is divided after all: 200 + 40.
#[test]
fn what_one_division_makes_worthwhile_is_divided_in_the_next_round() {
    let nodes = [
        (Step::Convolution { unit: 1, times: 4, macs: 10 }, vec![0]),
        (Step::Convolution { unit: 1, times: 1, macs: 1000 }, vec![1]),
    ];
    let network = Network::of(8, &nodes, &[10; 2], 10);
    let divided = network.divided();
    let channels: Vec<&[usize]> = divided.splits.iter().map(|split| split.shares.as_slice()).collect();
    assert_eq!(channels, [[4, 4], [4, 4]]);
    assert_eq!(network.finish(&divided), Some(Nanoseconds(240)));
}

/// The second core is five times as fast, so by its own cost all of the convolution belongs there. That is no division,
/// and nothing is changed: where whole operators run is not decided here.
#[test]
fn an_operator_that_belongs_elsewhere_as_a_whole_stays() {
    let network = Network::new(3, 1, &[], &[105, 20], 0, PartCost::default());
    assert_eq!(network.divided(), network.undivided());
}

/// One core has nobody to share with.
#[test]
fn a_single_core_stays_as_it_is() {
    let network = Network::new(8, 1, &[], &[100], 0, PartCost::default());
    let nobody = |_: Executed<'_>| -> Nanoseconds { panic!("nothing is to be found out") };
    assert_eq!(divide(network.undivided(), &network.graph, &network.table, |_| true, nobody), network.undivided());
}
