//! The default mapper against brute force, and every mapper against the rules.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod problems;

use std::time::Duration;

use millstream_cost::{BlockedEnd, Nanoseconds};
use millstream_mapping::{
    Annealing, BoundedMapper, Cpop, Edge, Heft, LayerSwitched, Mapper, MapperLimits, Mapping, MappingError,
    MappingProblem, Outcome, OutputId, SingleProcessor, TaskId,
};
use problems::{apart, best_order, blocking_problems, brute_force, problems};
use proptest::prelude::*;

/// A time of a processor that can run a node.
fn some(nanoseconds: u64) -> Option<Nanoseconds> {
    Some(Nanoseconds(nanoseconds))
}

fn mappers() -> Vec<Box<dyn Mapper>> {
    vec![
        Box::new(Heft),
        Box::new(Cpop),
        Box::new(LayerSwitched),
        Box::new(SingleProcessor),
        #[cfg(feature = "highs")]
        Box::new(millstream_mapping::CoarseIlp),
        Box::new(BoundedMapper),
    ]
}

/// What a search may take beyond its steps: it looks at what is left before every 256 moves, each a step for every node,
/// and after every 4096 states, each four steps for every processor.
fn between_looks(problem: &MappingProblem) -> u64 {
    let (nodes, processors) = (problem.len() as u64, problem.processor_count() as u64);
    (256 * nodes).max(4096 * 4 * processors)
}

/// What a mapper makes of a problem; `None` if it is the one that may refuse it, because no processor alone can do
/// everything.
fn mapped(mapper: &dyn Mapper, problem: &MappingProblem, limits: &MapperLimits<'_>) -> Option<Mapping> {
    let fits_one =
        problem.processors().any(|processor| problem.nodes().all(|node| problem.time(node, processor).is_some()));
    match mapper.map(problem, limits) {
        Ok(mapping) => Some(mapping),
        Err(MappingError::Unsupported { .. }) if mapper.name() == SingleProcessor.name() && !fits_one => None,
        Err(error) => panic!("{}: {error}", mapper.name()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn the_default_is_optimal(problem in problems(8)) {
        let mapping = BoundedMapper.map(&problem, &MapperLimits::default()).unwrap();
        prop_assert_eq!(mapping.makespan, brute_force(&problem));
        prop_assert_eq!(mapping.outcome, Outcome::Optimal);
        prop_assert_eq!(mapping.lower_bound, mapping.makespan);
    }

    #[test]
    fn every_mapping_follows_the_rules_and_no_bound_is_too_high(problem in problems(7)) {
        let best = brute_force(&problem);
        for mapper in mappers() {
            let Some(mapping) = mapped(&*mapper, &problem, &MapperLimits::default()) else { continue };
            prop_assert!(mapping.lower_bound <= best, "{}: {:?} {}", mapper.name(), mapping, best);
            prop_assert!(mapping.makespan >= best, "{}", mapper.name());
            prop_assert_eq!(Some(mapping.makespan), problem.makespan(&mapping.order));
            let mut nodes: Vec<TaskId> = mapping.order.iter().flatten().copied().collect();
            nodes.sort_unstable();
            prop_assert_eq!(nodes, problem.nodes().collect::<Vec<_>>());
            prop_assert_eq!(mapping.placement.len(), problem.len());
            for node in problem.nodes() {
                let processor = mapping.processor_of(node);
                prop_assert!(problem.time(node, processor).is_some());
                prop_assert!(mapping.order[processor.index()].contains(&node));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn the_default_is_optimal_with_transfers_that_block(problem in blocking_problems(5)) {
        let best = best_order(&problem);
        for mapper in mappers() {
            let Some(mapping) = mapped(&*mapper, &problem, &MapperLimits::default()) else { continue };
            prop_assert!(mapping.lower_bound <= best && mapping.makespan >= best, "{}: {mapping:?} {best}", mapper.name());
        }
        let mapping = BoundedMapper.map(&problem, &MapperLimits::default()).unwrap();
        prop_assert_eq!((mapping.makespan, mapping.outcome), (best, Outcome::Optimal));
    }
}

#[cfg(feature = "highs")]
proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn the_published_fine_program_is_optimal_on_small_problems(problem in problems(5)) {
        let mapping = millstream_mapping::FineIlp.map(&problem, &MapperLimits::default()).unwrap();
        let best = brute_force(&problem);
        prop_assert_eq!(Some(mapping.makespan), problem.makespan(&mapping.order));
        prop_assert!(mapping.lower_bound <= best, "{:?} {}", mapping, best);
        prop_assert_eq!(mapping.makespan, best);
    }

    /// The program knows nothing of ends that transfers occupy: its bound holds, but what it finds need not be the
    /// best.
    #[test]
    fn the_published_fine_program_bounds_problems_with_transfers_that_block(problem in blocking_problems(4)) {
        let mapping = millstream_mapping::FineIlp.map(&problem, &MapperLimits::default()).unwrap();
        let best = best_order(&problem);
        prop_assert_eq!(Some(mapping.makespan), problem.makespan(&mapping.order));
        prop_assert!(mapping.lower_bound <= best && mapping.makespan >= best, "{:?} {}", mapping, best);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn the_default_is_never_worse_than_the_classics_and_bounds_hold_on_larger_problems(problem in problems(24)) {
        let limits = MapperLimits { steps: 8_000_000, program_time: Duration::from_millis(800), ..MapperLimits::default() };
        let ours = BoundedMapper.map(&problem, &limits).unwrap();
        for mapper in mappers() {
            let Some(mapping) = mapped(&*mapper, &problem, &limits) else { continue };
            prop_assert!(ours.makespan <= mapping.makespan, "{}", mapper.name());
            prop_assert!(mapping.lower_bound <= ours.makespan, "{}", mapper.name());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// So few steps that the first part of the default takes them all if it does not come to the end. Integer programs,
    /// which can't be stopped anywhere, do not have their turn.
    #[test]
    fn no_mapper_takes_more_than_its_steps(problem in problems(24), steps in 0_u64..300_000) {
        let limits = MapperLimits { steps, program_time: Duration::from_millis(50), ..MapperLimits::default() };
        for mapper in mappers().into_iter().chain([Box::new(Annealing) as Box<dyn Mapper>]) {
            let Some(mapping) = mapped(&*mapper, &problem, &limits) else { continue };
            let most = steps + between_looks(&problem);
            prop_assert!(mapping.steps <= most, "{}: {} of {steps}", mapper.name(), mapping.steps);
        }
    }
}

/// Two nodes may read one value of another, each at a cost of its own, while nobody is occupied; a value that occupies
/// its maker is sent once.
#[test]
fn one_value_occupies_a_processor_in_one_way() {
    let problem = |times: [u64; 2], value: usize, blocks: [Option<BlockedEnd>; 2]| {
        let edge = |to: usize, time: u64, value: usize, blocks: Option<BlockedEnd>| {
            let edge = Edge::new(TaskId::new(0), TaskId::new(to), apart(2, time)).of_value(OutputId::new(value));
            edge.blocking(vec![vec![blocks; 2]; 2])
        };
        let names = ["a", "b", "c"].map(String::from).to_vec();
        let edges = vec![edge(1, times[0], 0, blocks[0]), edge(2, times[1], value, blocks[1])];
        MappingProblem::new(names, vec![vec![some(1); 2]; 3], edges)
    };
    let (sender, receiver) = (Some(BlockedEnd::Sender), Some(BlockedEnd::Receiver));

    problem([4, 4], 0, [sender; 2]).unwrap();
    problem([4, 5], 0, [None; 2]).unwrap();
    problem([4, 5], 1, [sender; 2]).unwrap();
    problem([4, 4], 1, [sender, receiver]).unwrap();
    for (times, blocks) in [([4, 5], [sender; 2]), ([4, 4], [sender, receiver]), ([4, 4], [None, sender])] {
        let error = problem(times, 0, blocks).unwrap_err().to_string();
        assert!(error.contains("nodes 1 and 2 read one value of node 0"), "{error}");
    }
}

#[test]
fn odd_problems_are_solved_or_refused() {
    let limits = MapperLimits::default();
    let none = MappingProblem::new(Vec::new(), Vec::new(), Vec::new()).unwrap();
    assert_eq!(BoundedMapper.map(&none, &limits).unwrap().makespan.0, 0);
    let nobody = MappingProblem::new(vec!["conv".into()], vec![vec![None, None]], Vec::new()).unwrap_err();
    assert!(nobody.to_string().contains("'conv'"), "{nobody}");
    let backward = Edge::new(TaskId::new(1), TaskId::new(0), apart(1, 0));
    let error = MappingProblem::new(vec!["a".into(), "b".into()], vec![vec![some(1)]; 2], vec![backward]).unwrap_err();
    assert!(matches!(error, MappingError::Shape { .. }));
    // No processor alone can do both.
    let split =
        MappingProblem::new(vec!["a".into(), "b".into()], vec![vec![some(1), None], vec![None, some(1)]], Vec::new())
            .unwrap();
    assert!(matches!(SingleProcessor.map(&split, &limits), Err(MappingError::Unsupported { .. })));
    assert_eq!(BoundedMapper.map(&split, &limits).unwrap().makespan.0, 1);
    let instant = MappingProblem::new(vec!["a".into(), "b".into()], vec![vec![some(0); 2]; 2], Vec::new()).unwrap();
    assert_eq!(BoundedMapper.map(&instant, &limits).unwrap().makespan.0, 0);
}

#[test]
fn infinite_times_are_refused() {
    let endless = MappingProblem::new(vec!["a".into()], vec![vec![some(u64::MAX)]], Vec::new()).unwrap_err();
    assert!(endless.to_string().contains("longer than a day"), "{endless}");
}

#[test]
fn five_thousand_nodes_in_a_chain_are_no_problem() {
    let names = (0..5000).map(|index| format!("n{index}")).collect();
    let nodes = TaskId::all(5000);
    let link = |(from, to)| Edge::new(from, to, apart(2, 5));
    let edges = nodes.clone().zip(nodes.skip(1)).map(link).collect();
    let times = (0..5000).map(|index| vec![some(10), some(9 + index % 3)]).collect();
    let problem = MappingProblem::new(names, times, edges).unwrap();
    let limits = MapperLimits { steps: 20_000_000, program_time: Duration::from_secs(2), ..MapperLimits::default() };
    for mapper in mappers() {
        let mapping = mapper.map(&problem, &limits).unwrap();
        assert!(mapping.makespan.0 <= 55_000, "{}: {}", mapper.name(), mapping.makespan);
    }
}

/// So many nodes of unlike times on three processors, of which the last can't run all: each but the first three reads
/// one of the three before.
fn branches(count: usize) -> MappingProblem {
    let names = (0..count).map(|index| format!("n{index}")).collect();
    let edge = |to: usize| Edge::new(TaskId::new(to - 3 + to % 2), TaskId::new(to), apart(3, 5));
    let edges = (3..count).map(edge).collect();
    let time = |index: u64| {
        vec![some(100 + index * 37 % 91), some(150 + index * 53 % 77), some(200).filter(|_| !index.is_multiple_of(4))]
    };
    MappingProblem::new(names, (0..count as u64).map(time).collect(), edges).unwrap()
}

#[test]
fn a_thousand_branches_keep_to_their_steps_and_come_near_their_bound() {
    let problem = branches(1000);
    let limits = MapperLimits { steps: 20_000_000, ..MapperLimits::default() };
    let mapping = BoundedMapper.map(&problem, &limits).unwrap();
    // Three parts with a sixth of the steps, what goes on with the rest, and annealing beside them.
    let most = limits.steps + 5 * between_looks(&problem);
    assert!(mapping.steps <= most, "{} of {}", mapping.steps, limits.steps);
    assert!(mapping.lower_bound <= mapping.makespan);
    // Seen and not derived, so that a worse search is noticed: it came to 0.22 % with the solver. Without it, the start
    // is further from the bound.
    let most = if cfg!(feature = "highs") { 0.004 } else { 0.5 };
    assert!(mapping.gap() < most, "{}", mapping.gap());
}

#[test]
fn a_cancelled_search_says_so() {
    let limits = MapperLimits { steps: 4_000_000, ..MapperLimits::default() };
    let problem = branches(1000);
    let cancelled = std::sync::atomic::AtomicBool::new(true);
    let stopped = BoundedMapper.map(&problem, &MapperLimits { cancelled: Some(&cancelled), ..limits }).unwrap();
    assert_eq!(stopped.outcome, Outcome::Cancelled);
    assert!(stopped.lower_bound < stopped.makespan && Some(stopped.makespan) == problem.makespan(&stopped.order));

    // Otherwise it takes all its steps.
    let whole = BoundedMapper.map(&problem, &limits).unwrap();
    assert_eq!(whole.outcome, Outcome::StepLimit);
    assert!(stopped.steps < whole.steps && whole.gap() <= stopped.gap(), "{} {}", stopped.gap(), whole.gap());
}
