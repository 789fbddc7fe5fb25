//! What fits into the memory that all processors share.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod random_cases;

use millstream_partition::Chain;
use millstream_pipeline::{
    PipelineError, Plan, Problem, Sharing, Tenant, best_period, divide_memory, pareto_front,
    pareto_front_within_memory, share, teams_of,
};
use millstream_schedule::Schedule;
use millstream_test_support::{board, diamond, uniform_table};
use proptest::prelude::*;
use random_cases::{Case, cases, plans, supported};

fn best(case: &Case) -> Result<Plan, PipelineError> {
    let (graph, board, table) = case.build();
    let problem = Problem::new(&graph, &Chain::of(&graph), &board, &table).unwrap();
    let best = best_period(&problem)?;
    let front = pareto_front(&problem)?;
    assert!(front.iter().all(|plan| best.period <= plan.period));
    assert_eq!(problem.schedule(&best).evaluate(&graph, &table).unwrap().period, best.period);
    Ok(best)
}

/// One operator on four equal cores: a replica holds 4 bytes of the input and 400 of the output.
#[test]
fn there_are_as_many_replicas_as_fit() {
    let mut case = Case::with_cores(vec![4], 1);
    case.sizes = vec![100];
    case.times = vec![vec![Some(1200)], vec![None], vec![None], vec![None]];
    for (bytes, period) in [(1616, 300), (1615, 400), (1212, 400), (808, 600), (807, 1200), (404, 1200)] {
        case.memory = Some(bytes);
        assert_eq!(best(&case).unwrap().period.0, period, "{bytes} bytes");
        let (graph, board, table) = case.build();
        let problem = Problem::new(&graph, &Chain::of(&graph), &board, &table).unwrap();
        let is_whole = pareto_front_within_memory(&problem).unwrap().is_whole;
        assert_eq!(is_whole, bytes == 1616, "all four replicas fit into 1616 bytes");
    }
    case.memory = Some(403);
    assert_eq!(best(&case).unwrap_err(), PipelineError::Memory { least_bytes: 404, most_bytes: 403 });
}

/// Two stages need more than one that nobody would choose: at most 804 bytes are there at once in a single one.
#[test]
fn what_is_small_is_found_though_it_is_slow() {
    let mut case = Case::with_cores(vec![1, 1], 2);
    case.sizes = vec![100, 100];
    case.times = vec![vec![Some(10), Some(100)], vec![Some(100), Some(10)]];
    case.memory = Some(1208);
    assert_eq!(best(&case).unwrap().period.0, 10);
    case.memory = Some(900);
    assert_eq!(best(&case).unwrap().period.0, 110);
}

/// Two networks of which one holds half as much as the other: each fits with four replicas, both together with two and
/// a half of each.
#[test]
fn networks_that_share_a_board_share_its_memory() {
    let mut case = Case::with_cores(vec![4], 1);
    case.times = vec![vec![Some(1200)], vec![None], vec![None], vec![None]];
    let problem = |size: usize, bytes: u64| {
        let (graph, board, table) = Case { sizes: vec![size], memory: Some(bytes), ..case.clone() }.build();
        Problem::new(&graph, &Chain::of(&graph), &board, &table).unwrap()
    };
    // With its input of 4 bytes, a replica holds 404 or 804.
    let networks = |bytes: u64| [problem(100, bytes), problem(200, bytes)];
    let periods = |problems: &[Problem]| -> Vec<u64> {
        problems.iter().map(|problem| best_period(problem).unwrap().period.0).collect()
    };
    let roomy = networks(3300);
    assert_eq!(periods(&roomy), [300, 300]);
    // 1103 and 2196 bytes.
    assert_eq!(periods(&divide_memory(&roomy).unwrap()), [600, 600]);
    assert_eq!(periods(&divide_memory(&networks(1208)).unwrap()), [1200, 1200]);
    let refused = divide_memory(&networks(1207)).unwrap_err();
    assert_eq!(refused, PipelineError::MemoryTogether { least_bytes: 1208, most_bytes: 1207 });
}

/// What a plan holds of the memory: of every replica, the values and weights of its blocks.
fn held(case: &Case, schedule: &Schedule) -> u64 {
    let (graph, board, _) = case.build();
    schedule.memory_bytes(&graph, &board)
}

/// Rounds a second and bytes of all plans of a network, of which no other is better in both.
fn choices(case: &Case) -> Vec<(f64, u64)> {
    let (graph, board, table) = case.build();
    let problem = Problem::new(&graph, &Chain::of(&graph), &board, &table).unwrap();
    let all = plans(&problem, &board).into_iter().filter_map(|plan| {
        let schedule = problem.schedule(&plan);
        Some((schedule.evaluate(&graph, &table).ok()?.period.seconds(), held(case, &schedule)))
    });
    all.collect()
}

/// The most rounds a second of two networks that take turns and fit into the memory together, by trying every pair.
fn brute_force_turns(one: &[(f64, u64)], other: &[(f64, u64)], bytes: u64) -> Option<f64> {
    let pairs = one.iter().flat_map(|mine| other.iter().map(move |theirs| (mine, theirs)));
    let fitting = pairs.filter(|(mine, theirs)| mine.1 + theirs.1 <= bytes);
    fitting.map(|(mine, theirs)| 1.0 / (mine.0 + theirs.0)).reduce(f64::max)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// Something is found whenever anything fits, it does fit, and it promises no more than the best of all that fit;
    /// where all do, it is the best.
    #[test]
    fn networks_together_against_all_that_fit(case in cases(), scale in 1_u64..6, share in 0.3_f64..1.6) {
        let mut other = case.clone();
        other.times.iter_mut().flatten().flatten().for_each(|time| *time = *time * scale % 3000 + 1);
        for own in [&case, &other] {
            let (graph, board, table) = own.build();
            supported(&graph, &board, &table)?;
        }
        let (mine, theirs) = (choices(&case), choices(&other));
        let most = |all: &[(f64, u64)]| all.iter().map(|case| case.1).max().unwrap_or(0);
        let bytes = (((most(&mine) + most(&theirs)) as f64 * share) as u64).max(1);
        let best = brute_force_turns(&mine, &theirs, bytes);

        let with_memory = |case: &Case| Case { memory: Some(bytes), ..case.clone() };
        let problems = [problem_of(&with_memory(&case)).unwrap(), problem_of(&with_memory(&other)).unwrap()];
        let found = together(&problems, bytes, [&case, &other]);
        prop_assert_eq!(found.is_some(), best.is_some(), "{:?} {:?}", found, best);
        prop_assert!(found <= best.map(|best| best * (1.0 + 1e-9)), "{found:?} {best:?}");
        // Where everything fits, the search is exact.
        let is_roomy = bytes >= most(&mine) + most(&theirs);
        prop_assert!(!is_roomy || found >= best.map(|best| best * (1.0 - 1e-9)), "{found:?} {best:?}");
    }

    /// Whatever fits is found, and it is no slower than all that fit without replicas.
    #[test]
    fn one_network_against_all_that_fit(case in cases(), share in 0.2_f64..1.1) {
        let case = Case { links: Vec::new(), ..case };
        let (graph, board, table) = case.build();
        let problem = supported(&graph, &board, &table)?;
        let rated = plans(&problem, &board).into_iter().filter_map(|plan| {
            let schedule = problem.schedule(&plan);
            let is_replicated = plan.stages.iter().any(|stage| stage.replicas.len() > 1);
            Some((schedule.evaluate(&graph, &table).ok()?.period, held(&case, &schedule), is_replicated))
        });
        let all: Vec<_> = rated.collect();
        let most = all.iter().map(|case| case.1).max().unwrap_or(0);
        let bytes = ((most as f64 * share) as u64).max(1);
        let fitting: Vec<_> = all.iter().filter(|case| case.1 <= bytes).collect();

        let limited = Case { memory: Some(bytes), ..case.clone() };
        match best(&limited) {
            Ok(found) => {
                prop_assert!(held(&limited, &problem.schedule(&found)) <= bytes);
                let unreplicated = fitting.iter().filter(|case| !case.2).map(|case| case.0).min();
                prop_assert!(unreplicated.is_none_or(|most| found.period <= most), "{found:?} {unreplicated:?}");
            }
            Err(PipelineError::Memory { least_bytes, most_bytes }) => {
                prop_assert_eq!(fitting.len(), 0);
                prop_assert_eq!((Some(least_bytes), most_bytes), (all.iter().map(|case| case.1).min(), bytes));
            }
            Err(error) => prop_assert!(all.is_empty() && error == PipelineError::Infeasible, "{error}"),
        }
    }
}

fn problem_of(case: &Case) -> Result<Problem, PipelineError> {
    let (graph, board, table) = case.build();
    Problem::new(&graph, &Chain::of(&graph), &board, &table)
}

/// The rounds a second of the best that is found by turns, with the whole memory for each and with a part of it.
fn together(problems: &[Problem; 2], bytes: u64, cases: [&Case; 2]) -> Option<f64> {
    let by_turns = |problems: &[Problem]| {
        let tenants: Vec<Tenant<'_>> = problems
            .iter()
            .map(|problem| Tenant { name: "one of two", problem, weight: 1.0, deadline: None })
            .collect();
        let fits = |sharing: &Sharing| {
            cases.iter().zip(&sharing.schedules).map(|(case, schedule)| held(case, schedule)).sum::<u64>() <= bytes
        };
        let found =
            share(&tenants, |sharing| (sharing.takes_turns && fits(sharing)).then_some(sharing.rounds_per_second))
                .ok()?;
        assert!(found.takes_turns && fits(&found));
        Some(found.rounds_per_second)
    };
    let divided = divide_memory(problems).ok().and_then(|divided| by_turns(&divided));
    by_turns(problems).into_iter().chain(divided).reduce(f64::max)
}

/// What a GPU with memory of its own runs alone needs nothing of the board's memory; a team of it and a core does.
#[test]
fn accelerators_with_memory_of_their_own_need_no_other() {
    let graph = diamond();
    let front = |bytes: u64| {
        let board = board(&format!("B1+G[10000] !{bytes}"));
        let table = uniform_table(&graph, &board, [10, 10]);
        let teams = teams_of(&board);
        let problem = Problem::with_teams(&graph, &Chain::of(&graph), &board, &table, &teams).unwrap();
        let plans = pareto_front(&problem).unwrap();
        plans.iter().map(|plan| (plan.latency.0, problem.schedule(plan).to_string())).collect::<Vec<_>>()
    };
    let plain = |(latency, text): &(u64, String)| (*latency, text.contains('+'), text.contains('B'));
    let quickest = |bytes: u64| front(bytes).iter().map(plain).min();
    // Stem, left beside right, and join.
    assert_eq!(quickest(1_000_000), Some((30, true, true)));
    assert_eq!(quickest(100), Some((40, false, false)));
    assert_eq!(front(100).len(), 1);
}
