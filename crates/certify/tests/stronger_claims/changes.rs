//! Claims that are stronger than what is proven.

use millstream_board::Board;
use millstream_certify::HostsProof;

use crate::CASES;
use crate::claims::Claims;
use crate::proofs::teams_in;

/// A change that makes a claim stronger.
pub(crate) struct Change {
    /// What is claimed then.
    pub(crate) claim: &'static str,
    /// Makes it, by some nanoseconds where it is a time. Returns whether there was such a claim to change.
    pub(crate) change: fn(&mut Claims, &Board, u64) -> bool,
    /// In how many of all cases there is one, at the least.
    pub(crate) fewest: u64,
}

/// Every number of which a certificate or its schedule claims too much when it is changed one way.
pub(crate) const CHANGES: [Change; 15] = [
    Change {
        claim: "a higher bound on all schedules",
        change: |claims, _, by| {
            claims.claim_bound(claims.certificate.throughput.period_nanoseconds + by);
            true
        },
        fewest: CASES * 9 / 10,
    },
    Change {
        claim: "a longer shortest period on single processors",
        change: |claims, _, by| {
            let proof = claims.certificate.single_processors.as_ref();
            let period = proof.map(|proof| proof.period_nanoseconds);
            period.into_iter().for_each(|period| claims.claim_single_processors(period + by));
            period.is_some()
        },
        fewest: CASES / 2,
    },
    Change {
        claim: "a higher bound on all that was searched",
        change: |claims, _, by| {
            let period = claims.certificate.searched.as_ref().map(|proof| proof.period_nanoseconds);
            period.into_iter().for_each(|period| claims.claim_searched(period + by));
            period.is_some()
        },
        fewest: CASES / 2,
    },
    Change {
        claim: "the same bound on more teams",
        change: |claims, board, _| {
            let Some(proof) = &mut claims.certificate.searched else { return false };
            let before = teams_in(proof.teams, board);
            proof.teams.most_processors += 1;
            proof.teams.spans_clusters = true;
            proof.teams.has_all_counts = true;
            teams_in(proof.teams, board) != before
        },
        fewest: CASES / 4,
    },
    Change {
        claim: "a bound on teams without a proof of one",
        change: |claims, _, _| {
            let proof = claims.certificate.searched.as_mut();
            proof.is_some_and(|proof| proof.dual_prices.pop().is_some())
        },
        fewest: CASES / 2,
    },
    Change {
        claim: "a period over several hosts, where there is one board",
        change: |claims, _, by| {
            let (period_nanoseconds, without) = (by, Vec::new());
            claims.certificate.hosts = Some(HostsProof { period_nanoseconds, blocks: 1, without });
            true
        },
        fewest: CASES * 9 / 10,
    },
    Change {
        claim: "a shorter promised period",
        change: |claims, _, by| {
            let seconds = claims.schedule.predicted.period_seconds;
            claims.promise_period(seconds - by as f64 * 1e-9);
            true
        },
        fewest: CASES * 9 / 10,
    },
    Change {
        claim: "a shorter promised latency",
        change: |claims, _, by| {
            claims.schedule.predicted.latency_seconds -= by as f64 * 1e-9;
            true
        },
        fewest: CASES * 9 / 10,
    },
    Change {
        claim: "a quicker replica",
        change: |claims, _, by| {
            claims.schedule.predicted.replica_seconds[0][0] -= by as f64 * 1e-9;
            true
        },
        fewest: CASES * 9 / 10,
    },
    Change {
        claim: "a shorter evaluated period",
        change: |claims, _, by| {
            claims.certificate.evaluated_period_nanoseconds -= by;
            true
        },
        fewest: CASES * 9 / 10,
    },
    Change {
        claim: "a smaller gap",
        change: |claims, _, by| {
            claims.certificate.gap -= by as f64 * 1e-9;
            true
        },
        fewest: CASES * 9 / 10,
    },
    Change {
        claim: "less energy, and the power that follows",
        change: |claims, _, by| {
            let predicted = &mut claims.schedule.predicted;
            let joules = predicted.joules_per_frame.unwrap() - 1e-8 * by as f64;
            predicted.joules_per_frame = Some(joules);
            predicted.watts = Some(joules / predicted.period_seconds);
            true
        },
        fewest: CASES * 9 / 10,
    },
    Change {
        claim: "less power",
        change: |claims, _, by| {
            let predicted = &mut claims.schedule.predicted;
            predicted.watts = predicted.watts.map(|watts| watts - 1e-8 * by as f64 / predicted.period_seconds);
            true
        },
        fewest: CASES * 9 / 10,
    },
    Change {
        claim: "stages that it does not have",
        change: |claims, _, _| {
            claims.schedule.configuration += "-B1";
            claims.certificate.configuration.clone_from(&claims.schedule.configuration);
            true
        },
        fewest: CASES * 9 / 10,
    },
    Change {
        claim: "less that is reached",
        change: |claims, _, _| {
            let proof = claims.certificate.single_processors.as_mut();
            proof.is_some_and(|proof| proof.reached.pop().is_some())
        },
        fewest: CASES / 4,
    },
];
