//! Families of task graphs as in the benchmark, small and with few steps.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod families;

use families::Attention;
use millstream_cost::BlockedEnd;
use millstream_mapping::{Annealing, BoundedMapper, Mapper, MapperLimits};

fn small() -> impl Iterator<Item = Attention> {
    let ends = [None, Some(BlockedEnd::Sender), Some(BlockedEnd::Receiver)];
    let ratios = [0.05, 0.3, 1.0];
    (0..18_u64).map(move |seed| Attention {
        seed,
        width: 1 + seed as usize % 3,
        ratio: ratios[seed as usize / 2 % 3],
        are_heads_alike: seed.is_multiple_of(2),
        blocks: ends[seed as usize / 3 % 3],
    })
}

#[test]
fn the_default_is_never_worse_than_annealing_alone() {
    is_never_worse(small().step_by(2));
}

/// Beside them, since each takes long.
#[test]
fn nor_is_it_for_the_other_half() {
    is_never_worse(small().skip(1).step_by(2));
}

/// With as many steps, which the default takes in a second thread.
fn is_never_worse(families: impl Iterator<Item = Attention>) {
    for family in families {
        let problem = family.problem();
        let limits = MapperLimits { steps: 4_000_000, ..MapperLimits::default() };
        let ours = BoundedMapper.map(&problem, &limits).unwrap();
        let alone = Annealing.map(&problem, &limits).unwrap();
        assert_eq!(problem.makespan(&alone.order), Some(alone.makespan), "{family:?}");
        assert!(ours.lower_bound <= alone.makespan, "{family:?}: {ours:?} {alone:?}");
        assert!(alone.lower_bound <= ours.makespan, "{family:?}: {ours:?} {alone:?}");
        assert!(ours.makespan <= alone.makespan, "{family:?}: {} and {}", ours.makespan, alone.makespan);
    }
}

#[test]
fn a_family_is_the_same_every_time() {
    for family in small() {
        assert_eq!(family.problem(), family.problem());
        assert_eq!(family.problem().len(), 25 + 9 * family.width);
    }
}
