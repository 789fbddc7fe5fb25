//! Nothing can be claimed beyond what is proven: certificates of random problems hold, and none holds with one claim
//! made stronger.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../brute_force/mod.rs"]
mod brute_force;
mod changes;
mod claims;
mod problem;
mod proofs;
#[path = "../random_problem/mod.rs"]
mod random_problem;

use brute_force::Pipelines;
use changes::{CHANGES, Change};
use claims::{Claims, claims};
use millstream_board::{Board, Memory};
use millstream_certify::{CertifyError, ThroughputProof, check_throughput};
use millstream_schedule::{Schedule, StatedConstraints};
use problem::{problem, schedules};
use proofs::throughput_proof;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use random_problem::Instance;

/// Random problems.
const CASES: u64 = 300;

/// How the processors of a schedule work on a frame.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// One processor in each stage.
    Single,
    /// Several in a stage, each operator on one of them.
    Team,
    /// Several in a stage, which divide operators by rows.
    Tiles,
}

impl Kind {
    const ALL: [Self; 3] = [Self::Single, Self::Team, Self::Tiles];

    fn of(schedule: &Schedule) -> Self {
        let replicas = || schedule.stages.iter().flat_map(|stage| &stage.replicas);
        if replicas().any(|replica| !replica.splits.is_empty()) {
            Self::Tiles
        } else if replicas().any(|replica| replica.assignments.len() > 1) {
            Self::Team
        } else {
            Self::Single
        }
    }
}

#[test]
fn no_claim_can_be_made_stronger() {
    let (mut without_schedules, mut with_teams, mut with_tiles) = (0, 0, 0);
    let mut changed = [0_u64; CHANGES.len()];
    for seed in 0..CASES {
        let instance = problem(seed);
        let schedules = schedules(&instance);
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let of_kind = |kind| schedules.iter().filter(|own| Kind::of(own) == kind).collect::<Vec<_>>();
        // Whole operators can be dealt out to teams in far more ways than there are other schedules.
        let kinds: Vec<Vec<&Schedule>> = Kind::ALL.map(of_kind).into_iter().filter(|all| !all.is_empty()).collect();
        if kinds.is_empty() {
            without_schedules += 1;
            continue;
        }
        // Few problems have tiles.
        let place = if random.random_bool(0.7) { kinds.len() - 1 } else { random.random_range(0..kinds.len()) };
        let all = &kinds[place];
        let schedule = all[random.random_range(0..all.len())];
        let kind = Kind::of(schedule);
        with_teams += u64::from(kind == Kind::Team);
        with_tiles += u64::from(kind == Kind::Tiles);

        let claims = claims(&instance, schedule, &mut random);
        claims.check(&instance).unwrap_or_else(|error| panic!("{seed}: the unchanged certificate is refused: {error}"));
        check_bounds(seed, &claims, &instance, &schedules);
        let by = random.random_range(1..40);
        for (change, count) in CHANGES.iter().zip(&mut changed) {
            let mut stronger = claims.clone();
            if (change.change)(&mut stronger, &instance.board, by) {
                *count += 1;
                assert!(stronger.check(&instance).is_err(), "{seed}: {} by {by} is accepted", change.claim);
            }
        }
    }

    assert!(without_schedules <= CASES / 10, "{without_schedules} of {CASES} problems have no schedule to certify");
    assert!(with_teams >= CASES / 4 && with_tiles >= CASES / 20, "{with_teams} of teams, {with_tiles} of tiles");
    for (change, count) in CHANGES.iter().zip(changed) {
        let Change { claim, fewest, .. } = change;
        assert!(count >= *fewest, "only {count} of {CASES} claimed {claim}, {fewest} are the fewest");
    }
}

/// No schedule goes below what is certified of all, and none in the searched space below what is certified of that.
fn check_bounds(seed: u64, claims: &Claims, instance: &Instance, schedules: &[Schedule]) {
    let Instance { graph, table, .. } = instance;
    let all = claims.certificate.throughput.period_nanoseconds;
    let searched = claims.certificate.searched.as_ref().map(|proof| proof.period_nanoseconds);
    // Pairs of whole clusters are in every space of teams.
    let periods = schedules.iter().map(|schedule| schedule.evaluate(graph, table).unwrap().period.0);
    for period in periods.chain(Pipelines::of(instance).shortest()) {
        assert!(all <= period, "{seed}: {all} ns are certified of all schedules, and one takes {period} ns");
        assert!(
            searched.is_none_or(|least| least <= period),
            "{seed}: {searched:?} ns are certified of all that was searched, and one of these takes {period} ns"
        );
    }
}

/// Shares of all processors are a billion parts, no more and no less.
#[test]
fn shares_add_up_to_a_billion() {
    let instance = problem(3);
    let whole = throughput_proof(&instance, &mut ChaCha8Rng::seed_from_u64(3));
    let check = |proof: &ThroughputProof| check_throughput(proof, &instance.graph, &instance.board, &instance.table);
    check(&whole).unwrap();
    let index = whole.shares.iter().position(|share| share.parts > 0).unwrap();
    for parts in [whole.shares[index].parts + 1, whole.shares[index].parts - 1] {
        let mut other = whole.clone();
        other.shares[index].parts = parts;
        assert!(matches!(check(&other), Err(CertifyError::Shares { .. })), "{parts}");
    }
}

/// Behind a memory that holds nothing up, what is promised is exactly as long as no order of frames goes below.
#[test]
fn a_promise_may_be_the_least_period() {
    let mut instance = problem(3);
    let mut document = instance.board.to_document();
    document.memory = Some(Memory { bytes_per_second: 1e18, bytes: None });
    instance.board = Board::try_from(document).unwrap();
    let schedule = schedules(&instance).into_iter().next().unwrap();
    let claims = claims(&instance, &schedule, &mut ChaCha8Rng::seed_from_u64(3));
    claims.check(&instance).unwrap();
    let mut shorter = claims;
    shorter.promise_period(shorter.schedule.predicted.period_seconds - 1e-9);
    assert!(matches!(shorter.check(&instance), Err(CertifyError::Promise { .. })));
}

/// A schedule is certified only within the limits that it was planned for.
#[test]
fn limits_that_a_promise_misses_are_refused() {
    let instance = problem(3);
    let schedule = schedules(&instance).into_iter().next().unwrap();
    let claims = claims(&instance, &schedule, &mut ChaCha8Rng::seed_from_u64(3));
    let promised = claims.schedule.predicted.clone();
    let with = |constraints: StatedConstraints| {
        let mut limited = claims.clone();
        limited.schedule.constraints = constraints;
        limited.check(&instance)
    };
    let limits = |factor: f64| {
        let least_hertz = 1.0 / promised.period_seconds / factor;
        [
            StatedConstraints { max_latency_seconds: Some(promised.latency_seconds * factor), ..Default::default() },
            StatedConstraints { min_throughput_hertz: Some(least_hertz), ..Default::default() },
            StatedConstraints { max_watts: promised.watts.map(|watts| watts * factor), ..Default::default() },
        ]
    };

    for (kept, missed) in limits(1.1).into_iter().zip(limits(0.8)) {
        with(kept).unwrap();
        assert!(matches!(with(missed), Err(CertifyError::Constraint { .. })), "{missed:?}");
        // With a margin of a quarter, what is promised has to be as much better.
        assert!(matches!(with(StatedConstraints { margin: 0.25, ..kept }), Err(CertifyError::Constraint { .. })));
    }
}
