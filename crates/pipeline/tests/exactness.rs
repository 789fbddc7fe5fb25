//! Exact search against exhaustive enumeration on random small cases.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod random_cases;

use std::ops::Range;

use millstream_board::{Board, ProcessorClass};
use millstream_cost::{CostTable, Nanoseconds};
use millstream_graph::Graph;
use millstream_partition::Chain;
use millstream_pipeline::{
    Objective, PeriodBound, PipeIt, PipelineError, Plan, PlannedReplica, PlannedStage, Problem, Search,
    ThroughputBound, best_period, choose, pareto_front,
};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use random_cases::{Case, Point, cases, linked_cases, plans, supported, undominated};

fn brute_force(problem: &Problem, graph: &Graph, board: &Board, table: &CostTable) -> Vec<Point> {
    evaluated(problem, graph, board, table, usize::MAX)
}

/// Only plans whose stages have one replica.
fn brute_force_single(problem: &Problem, graph: &Graph, board: &Board, table: &CostTable) -> Vec<Point> {
    evaluated(problem, graph, board, table, 1)
}

/// The shortest period of the stages of any plan, whatever they wait for before links that several of them use, and
/// whether any plan is held up by such a link.
fn without_shared_links(problem: &Problem, graph: &Graph, board: &Board, table: &CostTable) -> (Nanoseconds, bool) {
    let evaluations =
        plans(problem, board).into_iter().filter_map(|plan| problem.schedule(&plan).evaluate(graph, table).ok());
    evaluations.fold((Nanoseconds(u64::MAX), false), |(shortest, is_held_up), evaluation| {
        let stages = evaluation.stages.iter().map(|stage| stage.period).max().unwrap_or_default();
        (shortest.min(stages), is_held_up || evaluation.period > stages)
    })
}

fn evaluated(problem: &Problem, graph: &Graph, board: &Board, table: &CostTable, replicas: usize) -> Vec<Point> {
    plans(problem, board)
        .into_iter()
        .filter(|plan| plan.stages.iter().all(|stage| stage.replicas.len() <= replicas))
        .filter_map(|plan| {
            let schedule = problem.schedule(&plan);
            schedule.validate(graph, board).unwrap();
            let evaluation = schedule.evaluate(graph, table).ok()?;
            Some((evaluation.period, evaluation.latency))
        })
        .collect()
}

/// A network of which nothing is known takes no time: there is no shorter period than none, so the front has an end.
#[test]
fn a_network_without_work_has_a_front() {
    let mut case = Case::with_cores(vec![2, 1], 3);
    case.times.iter_mut().flatten().for_each(|time| *time = Some(0));
    let (graph, board, table) = case.build();
    let problem = Problem::new(&graph, &Chain::of(&graph), &board, &table).unwrap();
    let front = pareto_front(&problem).unwrap();
    assert_eq!(front.len(), 1);
    // Replicas that share frames are never without any time between them, so nothing is told apart below the clock's
    // unit.
    let unit = Nanoseconds(1);
    assert!(front[0].period <= unit && front[0].latency <= unit);
    assert!(best_period(&problem).unwrap().period <= unit);
}

/// With one replica per stage, period and front are the best of the plans that have no more.
fn one_replica_each_is_exact(
    problem: &Problem,
    graph: &Graph,
    board: &Board,
    table: &CostTable,
) -> Result<(), TestCaseError> {
    let single = problem.clone().without_replicas();
    let points: Vec<_> = brute_force_single(&single, graph, board, table);
    let Some(shortest) = points.iter().map(|point| point.0).min() else {
        prop_assert_eq!(best_period(&single), Err(PipelineError::Infeasible));
        return Ok(());
    };

    let plan = best_period(&single).unwrap();
    prop_assert_eq!(plan.period, shortest);
    prop_assert!(plan.stages.iter().all(|stage| stage.replicas.len() == 1));
    let found: Vec<_> = pareto_front(&single).unwrap().iter().map(|plan| (plan.period, plan.latency)).collect();
    prop_assert_eq!(found, undominated(&points));
    Ok(())
}

// Cases that are refused or left out by an assumption are replaced by others: every one that counts has been compared.
proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn exact_equals_exhaustive(case in prop_oneof![cases().boxed(), linked_cases().boxed()]) {
        let (graph, board, table) = case.build();
        let problem = supported(&graph, &board, &table)?;
        let all = brute_force(&problem, &graph, &board, &table);
        let Some(shortest) = all.iter().map(|point| point.0).min() else {
            prop_assert_eq!(best_period(&problem), Err(PipelineError::Infeasible));
            prop_assert_eq!(pareto_front(&problem), Err(PipelineError::Infeasible));
            return Err(TestCaseError::reject("there is no plan"));
        };
        let (by_stages, is_held_up) = without_shared_links(&problem, &graph, &board, &table);
        prop_assume!(!is_held_up);
        let plan = best_period(&problem).unwrap();
        prop_assert_eq!(plan.period, shortest);
        prop_assert_eq!(PeriodBound::of(&problem), Ok(PeriodBound(by_stages)));
        let bound = ThroughputBound::of(&graph, &board, &table);
        prop_assert!(bound.period <= shortest, "{bound:?} {shortest}");
        // The heuristic is never better, and what it finds can run. It finds nothing only where some processor can't
        // run everything.
        let heuristic = PipeIt.search(&problem);
        let is_complete = case.times.iter().flatten().all(Option::is_some);
        prop_assert!(heuristic.is_ok() || !is_complete && heuristic == Err(PipelineError::Infeasible), "{heuristic:?}");
        if let Ok(heuristic) = heuristic {
            let longest = all.iter().map(|point| point.0).max().unwrap();
            prop_assert!(heuristic.period >= shortest && heuristic.period <= longest);
            let schedule = problem.schedule(&heuristic);
            prop_assert!(schedule.validate(&graph, &board).is_ok());
            prop_assert_eq!(schedule.evaluate(&graph, &table).unwrap().period, heuristic.period);
        }

        let front = pareto_front(&problem).unwrap();
        let found: Vec<_> = front.iter().map(|plan| (plan.period, plan.latency)).collect();
        prop_assert_eq!(found, undominated(&all));

        for plan in front.iter().chain([&plan]) {
            let schedule = problem.schedule(plan);
            schedule.validate(&graph, &board).unwrap();
            let evaluation = schedule.evaluate(&graph, &table).unwrap();
            prop_assert_eq!((evaluation.period, evaluation.latency), (plan.period, plan.latency));
        }
        one_replica_each_is_exact(&problem, &graph, &board, &table)?;

        let chosen = |objective| choose(&front, objective).map(|index| &front[index]).unwrap();
        prop_assert_eq!(chosen(Objective::Latency), &front[0]);
        prop_assert!(chosen(Objective::Throughput).period.seconds() <= shortest.seconds() * 1.01);
    }

    /// Renaming clusters changes nothing but the names.
    #[test]
    fn cluster_order_does_not_matter(case in cases()) {
        let mut swapped = case.clone();
        swapped.cores.reverse();
        swapped.has_two_engines.reverse();
        let mut start = 0;
        let (mut times, mut hand_over) = (Vec::new(), Vec::new());
        for (&cores, has_two) in case.cores.iter().zip(&case.has_two_engines) {
            let count = cores * (1 + usize::from(*has_two));
            times.splice(0..0, case.times[start..start + count].iter().cloned());
            hand_over.splice(0..0, case.hand_over[start..start + count].iter().copied());
            start += count;
        }
        (swapped.times, swapped.hand_over) = (times, hand_over);
        let period = |case: &Case| {
            let (graph, board, table) = case.build();
            let problem = Problem::new(&graph, &Chain::of(&graph), &board, &table).ok()?;
            best_period(&problem).ok().map(|plan| plan.period)
        };
        prop_assert_eq!(period(&case), period(&swapped));
    }
}

proptest! {
    // Links hold up a plan in one case of fifty.
    #![proptest_config(ProptestConfig { max_global_rejects: 10_000, ..ProptestConfig::with_cases(20) })]

    /// Where a link that several stages use holds up some plan, the search may miss the best; what it finds is as it
    /// says, and no bound is above it.
    #[test]
    fn plans_that_links_hold_up_are_evaluated_as_found(case in linked_cases()) {
        let (graph, board, table) = case.build();
        let problem = supported(&graph, &board, &table)?;
        let (by_stages, is_held_up) = without_shared_links(&problem, &graph, &board, &table);
        prop_assume!(is_held_up);
        let shortest = brute_force(&problem, &graph, &board, &table).into_iter().map(|point| point.0).min().unwrap();
        let plan = best_period(&problem).unwrap();
        // Where there are no teams, nothing is uncertain but what stages wait for each other before links.
        prop_assert_eq!(PeriodBound::of(&problem), Ok(PeriodBound(by_stages)));
        prop_assert!(plan.period >= shortest && by_stages <= shortest);
        for plan in pareto_front(&problem).unwrap().iter().chain([&plan]) {
            let evaluation = problem.schedule(plan).evaluate(&graph, &table).unwrap();
            prop_assert_eq!((evaluation.period, evaluation.latency), (plan.period, plan.latency));
        }
    }
}

#[test]
fn measured_times_replace_predicted_ones() {
    let stage = |blocks: Range<usize>| PlannedStage {
        blocks: blocks.into(),
        replicas: vec![PlannedReplica {
            processors: vec![ProcessorClass::new("B", 1)],
            work: None,
            time: Nanoseconds(10),
        }],
    };
    let plan = |cut: usize| Plan {
        stages: vec![stage(0..cut), stage(cut..5)],
        period: Nanoseconds(10 + cut as u64),
        latency: Nanoseconds(20),
        energy: None,
    };
    let measured = plan(2).with_measured(vec![vec![Nanoseconds(11)], vec![Nanoseconds(12)]], Nanoseconds(13));
    assert_eq!((measured.period, measured.latency), (Nanoseconds(13), Nanoseconds(23)));
    assert!(measured.is_same_pipeline(&plan(2)) && !measured.is_same_pipeline(&plan(3)));
    let kept = Plan::undominated(vec![measured, plan(4), plan(1)]);
    assert_eq!(kept, [plan(1)]);
}

#[test]
fn objectives_have_names() {
    for objective in Objective::ALL {
        assert_eq!(objective.to_string().parse(), Ok(objective));
    }
    assert!("speed".parse::<Objective>().unwrap_err().contains("throughput, latency, balanced or energy"));
}
