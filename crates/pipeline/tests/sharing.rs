//! Dividing a board among networks, against every division there is.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod random_cases;

use std::cell::RefCell;
use std::collections::HashSet;

use millstream_board::Board;
use millstream_cost::Nanoseconds;
use millstream_partition::Chain;
use millstream_pipeline::{
    PipelineError, Plan, PlannedStage, Problem, Sharing, Tenant, divide_as_rated, divide_processors, pareto_front,
    share, take_turns,
};
use proptest::prelude::*;
use random_cases::{Case, cases, plans, supported};

/// Period and latency of every plan, with the cores of each cluster that it uses.
fn all(case: &Case, problem: &Problem) -> Vec<Used> {
    let (graph, board, table) = case.build();
    let used = |board: &Board, plan: &Plan| -> Vec<usize> {
        let classes = || plan.stages.iter().flat_map(PlannedStage::processors);
        let of = |label: &str| classes().filter(|class| class.cluster == label).map(|class| class.count).sum();
        board.clusters().iter().map(|cluster| of(&cluster.label)).collect()
    };
    let evaluated = plans(problem, &board).into_iter().filter_map(|plan| {
        let evaluation = problem.schedule(&plan).evaluate(&graph, &table).ok()?;
        Some((used(&board, &plan), evaluation.period, evaluation.latency))
    });
    evaluated.collect()
}

/// Used cores of each cluster, period and latency of a plan.
type Used = (Vec<usize>, Nanoseconds, Nanoseconds);

/// The most rounds a second of two plans beside each other, by trying every pair.
fn brute_force_division(
    board: &Board,
    mine: &[Used],
    theirs: &[Used],
    weight: f64,
    deadline: Option<Nanoseconds>,
) -> Option<f64> {
    let limits: Vec<usize> = board.clusters().iter().map(|cluster| cluster.cores.len()).collect();
    let mut best: Option<f64> = None;
    for (used, period, latency) in mine {
        for (taken, other_period, _) in theirs {
            let fits = used.iter().zip(taken).zip(&limits).all(|((used, taken), limit)| used + taken <= *limit);
            if fits && deadline.is_none_or(|deadline| *latency <= deadline) {
                let rate = (1.0 / period.seconds()).min(1.0 / (other_period.seconds() * weight));
                best = Some(best.map_or(rate, |best| best.max(rate)));
            }
        }
    }
    best
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    #[test]
    fn no_division_is_better(case in cases(), scale in 1_u64..6, weight in 0.25..4.0, share_of in 0.0..2.0) {
        let mut other = case.clone();
        other.times.iter_mut().flatten().flatten().for_each(|time| *time = *time * scale % 3000 + 1);
        let (graph, board, table) = case.build();
        let (other_graph, _, other_table) = other.build();
        let (one, two) = (supported(&graph, &board, &table)?, supported(&other_graph, &board, &other_table)?);

        let (mine, theirs) = (all(&case, &one), all(&other, &two));
        let mean = mine.iter().map(|plan| plan.2.0).sum::<u64>() / mine.len().max(1) as u64;
        let deadline = Some(Nanoseconds((mean as f64 * share_of) as u64)).filter(|_| share_of < 1.5);
        let best = brute_force_division(&board, &mine, &theirs, weight, deadline);

        let tenants = [
            Tenant { name: "one", problem: &one, weight: 1.0, deadline },
            Tenant { name: "two", problem: &two, weight, deadline: None },
        ];

        // The better of both, unless turns miss a deadline.
        let turns = take_turns(&tenants).ok().filter(|_| deadline.is_none()).map(|sharing| sharing.rounds_per_second);
        let expected = turns.into_iter().chain(best).reduce(f64::max);
        let found = share(&tenants, |sharing| (deadline.is_none() || !sharing.takes_turns).then_some(sharing.rounds_per_second)).ok().map(|sharing| sharing.rounds_per_second);

        // If frames never waited for those of others, turns would do whose pipelines keep to the deadline.
        if let (Some(deadline), Ok(easy)) = (deadline, share(&tenants, |turns| Some(turns.rounds_per_second))) {
            prop_assert!(easy.plans[0].latency <= deadline);
            prop_assert!(found.is_none_or(|found| easy.rounds_per_second >= found * (1.0 - 1e-9)));
            let free = take_turns(&tenants).unwrap();
            if free.plans[0].latency <= deadline && found.is_none_or(|found| free.rounds_per_second > found * (1.0 + 2e-3)) {
                prop_assert!(easy.takes_turns && (easy.rounds_per_second / free.rounds_per_second - 1.0).abs() < 1e-9);
            }
        }

        // A division that is about as good stands before turns.
        let about = 1e-3 + 1e-9;
        prop_assert!(found.zip(expected).is_none_or(|(found, expected)| found <= expected * (1.0 + 1e-9) && found * (1.0 + about) >= expected));
        prop_assert!(found.zip(best).is_none_or(|(found, best)| found >= best * (1.0 - 1e-9)));
        prop_assert_eq!(found.is_some(), expected.is_some());

        match (divide_processors(&tenants), best) {
            (Ok(Sharing { plans, schedules, rounds_per_second, takes_turns: false }), Some(best)) => {
                prop_assert!((rounds_per_second / best - 1.0).abs() < 1e-9, "{rounds_per_second} {best}");
                prop_assert!(deadline.is_none_or(|deadline| plans[0].latency <= deadline));
                let cores: Vec<_> = schedules.iter().flat_map(|schedule| schedule.processors()).flat_map(|processor| &processor.cores).collect();
                prop_assert_eq!(cores.iter().collect::<HashSet<_>>().len(), cores.len(), "{:?}", schedules);
                for (schedule, (graph, table)) in schedules.iter().zip([(&graph, &table), (&other_graph, &other_table)]) {
                    prop_assert!(schedule.validate(graph, &board).is_ok());
                    prop_assert!(schedule.evaluate(graph, table).is_ok());
                }
            }
            (Err(PipelineError::Deadline { network, deadline: limit, least, .. }), None) => {
                prop_assert_eq!((network.as_str(), Some(limit)), ("one", deadline));
                prop_assert!(least > limit);
            }
            (Err(PipelineError::Infeasible), None) => {}
            (found, best) => prop_assert!(false, "{found:?} {best:?}"),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Whoever may take longer passes no fewer rounds, though networks slow each other down the more, the more cores
    /// they use.
    #[test]
    fn later_deadlines_cost_no_rounds(case in cases(), scale in 1_u64..6, parts in proptest::collection::vec(0.3..2.5, 2..6)) {
        let mut other = case.clone();
        other.times.iter_mut().flatten().flatten().for_each(|time| *time = *time * scale % 3000 + 1);
        let problem = |case: &Case| {
            let (graph, board, table) = case.build();
            supported(&graph, &board, &table)
        };
        let (one, two) = (problem(&case)?, problem(&other)?);
        let front = pareto_front(&one);
        prop_assume!(front != Err(PipelineError::Infeasible));
        let quickest = front.unwrap()[0].latency.0;

        let mut deadlines: Vec<u64> = parts.iter().map(|part| (quickest as f64 * part) as u64).collect();
        deadlines.sort_unstable();
        let found = |deadline: u64| {
            let tenants = [
                Tenant { name: "one", problem: &one, weight: 1.0, deadline: Some(Nanoseconds(deadline)) },
                Tenant { name: "two", problem: &two, weight: 1.0, deadline: None },
            ];
            let rounds = |sharing: &Sharing| {
                let cores = sharing.schedules.iter().flat_map(|schedule| schedule.processors()).map(|processor| processor.cores.len()).sum::<usize>();
                let slower = 1.0 + 0.07 * cores as f64;
                let is_in_time = sharing.plans[0].latency.0 as f64 * slower <= deadline as f64;
                (!sharing.takes_turns && is_in_time).then_some(sharing.rounds_per_second / slower)
            };
            share(&tenants, rounds).map_or(0.0, |sharing| sharing.rounds_per_second)
        };
        let rounds: Vec<f64> = deadlines.into_iter().map(found).collect();
        prop_assume!(rounds.last().is_some_and(|last| *last > 0.0));
        // What passes a thousandth less than it promises is not asked about again.
        prop_assert!(rounds.windows(2).all(|pair| pair[1] >= pair[0] * (1.0 - 1e-3)), "{rounds:?}");
    }
}

/// Alone, each keeps its deadline with replicas that take 100 ns. Beside each other that is too late, so the first gets
/// a processor of two cores, which takes 70.
#[test]
fn networks_that_hold_each_other_up_are_planned_for_shorter_deadlines() {
    let mut case = Case::with_cores(vec![3], 1);
    case.times = vec![vec![Some(100)], vec![Some(70)], vec![Some(60)]];
    let (graph, board, table) = case.build();
    let problem = Problem::new(&graph, &Chain::of(&graph), &board, &table).unwrap();
    let tenant = |name, deadline: Option<u64>| Tenant {
        name,
        problem: &problem,
        weight: 1.0,
        deadline: deadline.map(Nanoseconds),
    };
    let tenants = [tenant("hurried", Some(110)), tenant("patient", None)];
    assert_eq!(share(&tenants, |_| Some(1.0)).unwrap().plans[0].latency.0, 100);
    // Of those that pass as many rounds, the one stays that promises most.
    let first = divide_processors(&tenants).unwrap().plans;
    let others = RefCell::new(Vec::new());
    let as_many = |sharing: &Sharing| {
        let is_other = sharing.plans != first;
        others.borrow_mut().extend(is_other.then(|| sharing.plans.clone()));
        Some(if is_other || others.borrow().is_empty() { 1.0 } else { 0.5 })
    };
    assert_eq!(divide_as_rated(&tenants, as_many).unwrap().plans, first);
    assert!(!others.borrow().is_empty());

    let in_time = |latest: u64| {
        move |sharing: &Sharing| {
            (!sharing.takes_turns && sharing.plans[0].latency.0 <= latest).then_some(sharing.rounds_per_second)
        }
    };
    let found = share(&tenants, in_time(90)).unwrap();
    assert_eq!((found.plans[0].latency.0, found.plans[1].latency.0), (70, 100));
    let refused = share(&tenants, in_time(50)).unwrap_err();
    assert!(matches!(refused, PipelineError::Deadline { .. } | PipelineError::DeadlineBeside { .. }), "{refused}");
}
