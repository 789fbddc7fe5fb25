//! What fits into the memory that all processors share.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[allow(dead_code, reason = "these cases are not random")]
mod random_cases;

use millstream_partition::Chain;
use millstream_pipeline::{PipelineError, Plan, Problem, best_period, divide_memory, pareto_front};
use random_cases::Case;

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

/// Two networks of which one holds half as much as the other: each fits with four replicas, both together with two and a half of each.
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
