//! Hosts end and come back at random moments, messages are lost, frames end hosts: each frame is answered once, in
//! order, and rightly.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod world;

use std::time::Duration;

use millstream_distributed::{DistributedError, FrontEvent, FrontOptions, HostId, Identity, PlanId};
use proptest::prelude::*;
use world::{Faults, World, whole};

const LONG: Duration = Duration::from_secs(900);

fn seconds(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

/// All frames were answered in order; those that are not named rightly.
fn check(answers: &[(u64, Result<i64, String>)], frames: u64, may_fail: &[u64]) {
    assert_eq!(answers.iter().map(|answer| answer.0).collect::<Vec<_>>(), (0..frames).collect::<Vec<_>>());
    for (sequence, outcome) in answers {
        if may_fail.contains(sequence) {
            assert!(outcome.is_err(), "frame {sequence}: {outcome:?}");
        } else {
            assert_eq!(outcome, &Ok(whole(*sequence as i64)), "frame {sequence}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn every_frame_is_answered_once_in_order_whenever_hosts_end(
        (hosts, visits) in (1_usize..4, 1_usize..5),
        in_flight in 1_usize..6,
        kills in prop::collection::vec((0.0..4.0_f64, 0_usize..3, prop_oneof![0.05..0.8_f64, 2.0..9.0_f64]), 0..7),
        loses_one_in in prop_oneof![3 => Just(0_u32), 1 => 20_u32..200],
        failing in prop::collection::vec(0_u64..120, 0..4),
        seed: u64,
    ) {
        let kills = kills.into_iter().map(|(time, host, away)| (seconds(time), host, seconds(away))).collect();
        let faults = Faults { kills, loses_one_in, lossy: seconds(5.0), failing: failing.clone(), ..Faults::default() };
        let mut options = FrontOptions::new(in_flight);
        options.attempts = 1000;
        let (story, _) = World::new(hosts, visits, options, faults, 120, seed).run(LONG);
        check(&story.answers, 120, &failing);
    }

    #[test]
    fn a_frame_that_ends_hosts_fails_alone(
        hosts in 1_usize..3,
        in_flight in 1_usize..6,
        poisonous in prop::collection::btree_set(0_u64..40, 1..3),
        seed: u64,
    ) {
        let poisonous: Vec<u64> = poisonous.into_iter().collect();
        let faults = Faults { poisonous: poisonous.clone(), ..Faults::default() };
        let (story, _) = World::new(hosts, hosts, FrontOptions::new(in_flight), faults, 40, seed).run(LONG);
        check(&story.answers, 40, &poisonous);
        let failed = story.answers.iter().find_map(|answer| answer.1.as_ref().err()).unwrap();
        prop_assert!(failed.contains("was sent 5 times and never came back"), "{failed}");
    }
}

#[test]
fn a_host_that_is_lost_is_done_without_and_taken_back_after_a_trial() {
    let faults = Faults { kills: vec![(seconds(1.0), 1, seconds(8.0))], ..Faults::default() };
    let (story, front) = World::new(2, 2, FrontOptions::new(4), faults, 4000, 1).run(LONG);
    check(&story.answers, 4000, &[]);
    let at = |wanted: &FrontEvent| {
        story.events.iter().filter(|event| event.1 == *wanted).map(|event| event.0).collect::<Vec<_>>()
    };
    let (whole, alone) = (at(&FrontEvent::Streams(PlanId(0))), at(&FrontEvent::Streams(PlanId(2))));
    assert_eq!((whole.len(), alone.len()), (2, 1), "{:?}", story.events);
    assert!(alone[0] > seconds(1.0) && alone[0] < seconds(6.0), "{alone:?}");
    // Away until 9 s; the trial takes another 3.
    assert!(whole[1] > seconds(12.0) && whole[1] < seconds(13.0), "{whole:?}");
    assert_eq!(at(&FrontEvent::Lost(HostId(1))).len(), 1);
    assert_eq!(front.streams(), Some(PlanId(0)));
    assert!(story.longest_pause < seconds(5.0), "{:?}", story.longest_pause);
}

#[test]
fn without_a_plan_for_the_rest_a_lost_host_is_waited_for() {
    let faults = Faults { kills: vec![(seconds(1.0), 0, seconds(20.0))], ..Faults::default() };
    let (story, _) = World::new(1, 1, FrontOptions::new(3), faults, 400, 1).run(LONG);
    check(&story.answers, 400, &[]);
    assert!(story.longest_pause > seconds(19.0));
}

#[test]
fn what_can_not_go_on_ends_with_a_reason_for_every_frame() {
    let faults = Faults { kills: vec![(seconds(1.0), 0, LONG * 2)], ..Faults::default() };
    let (story, front) = World::new(1, 1, FrontOptions::new(3), faults, 400, 1).run(LONG);
    assert_eq!(story.answers.len(), 400);
    let reason = "the stream ended: host 'host0' has not answered for 60 s";
    assert!(story.answers[399].1.as_ref().unwrap_err().starts_with(reason), "{:?}", story.answers[399]);
    assert!(matches!(front.failure(), Some(DistributedError::Unreachable { .. })));
    assert!(story.end < seconds(70.0), "{:?}", story.end);
}

#[test]
fn all_hosts_must_be_there_before_the_first_frame() {
    // Although the first one could do without.
    let faults = Faults { kills: vec![(Duration::ZERO, 1, LONG * 2)], ..Faults::default() };
    let (story, front) = World::new(2, 2, FrontOptions::new(3), faults, 4, 1).run(LONG);
    assert_eq!(
        front.failure(),
        Some(&DistributedError::Unreachable { hosts: vec!["host1".to_owned()], seconds: 60 }),
        "{story:?}"
    );
}

#[test]
fn a_host_with_something_else_is_refused_before_the_first_frame() {
    let other = |change: fn(&mut Identity)| {
        let mut identity = Identity { host: "host1".to_owned(), ..Identity::default() };
        change(&mut identity);
        let world = World::new(2, 2, FrontOptions::new(3), Faults::default(), 4, 1).with_identity(1, identity);
        let (story, front) = world.run(LONG);
        assert!(story.answers.iter().all(|answer| answer.1.is_err()) && story.end < seconds(1.0), "{story:?}");
        front.failure().unwrap().to_string()
    };
    assert_eq!(
        other(|identity| identity.model = "abc".to_owned()),
        "host 'host1' has another model: 'abc' instead of ''; copy it there again"
    );
    assert!(other(|identity| identity.version = "0.0.1".to_owned()).contains("another version of Millstream"));
    assert!(other(|identity| identity.board = "x".to_owned()).contains("another board"));
    assert!(other(|identity| identity.schedules = vec!["x".to_owned()]).contains("another schedule"));
    assert!(other(|identity| identity.host = "rk".to_owned()).contains("another name: 'rk'"));
}
