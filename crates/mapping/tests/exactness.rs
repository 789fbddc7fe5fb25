//! The default mapper against brute force, and every mapper against the rules.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::time::Duration;

use millstream_cost::BlockedEnd;
use millstream_mapping::{
    Cpop, Edge, Exact, Heft, LayerSwitched, Limits, Mapper, MappingError, Outcome, Problem, SingleProcessor,
};
use proptest::prelude::*;

/// Time of the best of all mappings, by trying every order of nodes and every processor.
fn brute_force(problem: &Problem) -> u64 {
    struct Search<'a> {
        problem: &'a Problem,
        home: Vec<Option<usize>>,
        ends: Vec<u64>,
        free: Vec<u64>,
        best: u64,
    }
    impl Search<'_> {
        fn visit(&mut self, placed: usize, makespan: u64) {
            if makespan >= self.best {
                return;
            }
            if placed == self.problem.len() {
                self.best = makespan;
                return;
            }
            for node in 0..self.problem.len() {
                let is_ready = self.problem.incoming(node).all(|edge| self.home[edge.from].is_some());
                if self.home[node].is_some() || !is_ready {
                    continue;
                }
                for processor in self.problem.supporting(node).collect::<Vec<_>>() {
                    let mut start = self.free[processor].max(self.problem.release(node, processor));
                    for edge in self.problem.incoming(node) {
                        start =
                            start.max(self.ends[edge.from] + edge.transfer(self.home[edge.from].unwrap(), processor));
                    }
                    let before = self.free[processor];
                    let end = start + self.problem.time(node, processor).unwrap();
                    (self.home[node], self.ends[node], self.free[processor]) = (Some(processor), end, end);
                    self.visit(placed + 1, makespan.max(end));
                    (self.home[node], self.free[processor]) = (None, before);
                }
            }
        }
    }
    let mut search = Search {
        problem,
        home: vec![None; problem.len()],
        ends: vec![0; problem.len()],
        free: vec![0; problem.processors()],
        best: u64::MAX,
    };
    search.visit(0, 0);
    search.best
}

/// Random DAGs with unsupported pairs, releases, and sometimes processors that are the same.
fn problems(most_nodes: usize) -> impl Strategy<Value = Problem> {
    (1..=most_nodes, 1_usize..=3, any::<bool>()).prop_flat_map(|(nodes, processors, has_twins)| {
        let time = prop_oneof![4 => (0_u64..20).prop_map(Some), 1 => Just(None)];
        let rows = prop::collection::vec(prop::collection::vec(time, processors), nodes);
        let pairs = prop::collection::btree_set((0..nodes, 0..nodes), 0..=2 * nodes);
        let transfers = prop::collection::vec(0_u64..12, processors * processors);
        let releases = prop::collection::vec(0_u64..6, nodes);
        (rows, pairs, transfers, releases).prop_map(move |(mut rows, pairs, transfers, releases)| {
            for row in &mut rows {
                if has_twins {
                    let first = row[0];
                    row.iter_mut().for_each(|time| *time = first);
                }
                if row.iter().all(Option::is_none) {
                    row[0] = Some(7);
                }
            }
            let matrix: Vec<Vec<u64>> = (0..processors)
                .map(|from| {
                    (0..processors).map(|to| if has_twins { 3 } else { transfers[from * processors + to] }).collect()
                })
                .collect();
            let edges =
                pairs.iter().filter(|(from, to)| from < to).map(|&(from, to)| Edge::new(from, to, matrix.clone()));
            let names = (0..rows.len()).map(|index| format!("n{index}")).collect();
            let mut problem = Problem::new(names, rows, edges.collect()).unwrap();
            for (node, &release) in releases.iter().enumerate() {
                (0..processors).for_each(|processor| problem.set_release(node, processor, release));
            }
            problem
        })
    })
}

/// As [`problems`], with transfers that occupy one of their ends here and there.
fn blocking_problems(most_nodes: usize) -> impl Strategy<Value = Problem> {
    let end = prop_oneof![Just(None), Just(Some(BlockedEnd::Sender)), Just(Some(BlockedEnd::Receiver))];
    (problems(most_nodes), prop::collection::vec(end, 9)).prop_map(|(plain, ends)| {
        let processors = plain.processors();
        let row = |from: usize| (0..processors).map(|to| ends[3 * from + to]).collect();
        let blocks: Vec<Vec<Option<BlockedEnd>>> = (0..processors).map(row).collect();
        let edges = plain.edges().iter().map(|edge| edge.clone().blocking(blocks.clone()));
        let names = (0..plain.len()).map(|node| plain.name(node).to_owned()).collect();
        let times = (0..plain.len()).map(|node| (0..processors).map(|place| plain.time(node, place)).collect());
        Problem::new(names, times.collect(), edges.collect()).unwrap()
    })
}

/// The best of all orders on all processors, each evaluated as a whole.
fn best_order(problem: &Problem) -> u64 {
    fn visit(problem: &Problem, order: &mut Vec<Vec<usize>>, placed: &mut Vec<bool>, best: &mut u64) {
        if placed.iter().all(|&is_placed| is_placed) {
            *best = (*best).min(problem.makespan(order).unwrap().0);
            return;
        }
        for node in 0..problem.len() {
            if placed[node] || !problem.incoming(node).all(|edge| placed[edge.from]) {
                continue;
            }
            placed[node] = true;
            for processor in problem.supporting(node).collect::<Vec<_>>() {
                order[processor].push(node);
                visit(problem, order, placed, best);
                order[processor].pop();
            }
            placed[node] = false;
        }
    }
    let mut best = u64::MAX;
    visit(problem, &mut vec![Vec::new(); problem.processors()], &mut vec![false; problem.len()], &mut best);
    best
}

fn mappers() -> Vec<Box<dyn Mapper>> {
    vec![
        Box::new(Heft),
        Box::new(Cpop),
        Box::new(LayerSwitched),
        Box::new(SingleProcessor),
        #[cfg(feature = "highs")]
        Box::new(millstream_mapping::CoarseIlp),
        Box::new(Exact),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn the_default_is_optimal(problem in problems(8)) {
        let mapping = Exact.map(&problem, &Limits::default()).unwrap();
        prop_assert_eq!(mapping.makespan.0, brute_force(&problem));
        prop_assert_eq!(mapping.outcome, Outcome::Optimal);
        prop_assert_eq!(mapping.lower_bound, mapping.makespan);
    }

    #[test]
    fn every_mapping_follows_the_rules_and_no_bound_is_too_high(problem in problems(7)) {
        let best = brute_force(&problem);
        for mapper in mappers() {
            let mapping = match mapper.map(&problem, &Limits::default()) {
                Ok(mapping) => mapping,
                Err(MappingError::Unsupported { .. }) if mapper.name() == "single processor" => continue,
                Err(error) => panic!("{}: {error}", mapper.name()),
            };
            prop_assert!(mapping.lower_bound.0 <= best, "{}: {:?} {}", mapper.name(), mapping, best);
            prop_assert!(mapping.makespan.0 >= best, "{}", mapper.name());
            prop_assert_eq!(Some(mapping.makespan), problem.makespan(&mapping.order));
            let mut nodes: Vec<usize> = mapping.order.iter().flatten().copied().collect();
            nodes.sort_unstable();
            prop_assert_eq!(nodes, (0..problem.len()).collect::<Vec<_>>());
            for (node, &processor) in mapping.placement.iter().enumerate() {
                prop_assert!(problem.time(node, processor).is_some());
                prop_assert!(mapping.order[processor].contains(&node));
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
            if let Ok(mapping) = mapper.map(&problem, &Limits::default()) {
                prop_assert!(mapping.lower_bound.0 <= best && mapping.makespan.0 >= best, "{}: {mapping:?} {best}", mapper.name());
            }
        }
        let mapping = Exact.map(&problem, &Limits::default()).unwrap();
        prop_assert_eq!((mapping.makespan.0, mapping.outcome), (best, Outcome::Optimal));
    }
}

#[cfg(feature = "highs")]
proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn the_published_fine_program_is_optimal_on_small_problems(problem in problems(5)) {
        let mapping = millstream_mapping::FineIlp.map(&problem, &Limits::default()).unwrap();
        let best = brute_force(&problem);
        prop_assert_eq!(Some(mapping.makespan), problem.makespan(&mapping.order));
        prop_assert!(mapping.lower_bound.0 <= best, "{:?} {}", mapping, best);
        prop_assert_eq!(mapping.makespan.0, best);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn the_default_is_never_worse_than_the_classics_and_bounds_hold_on_larger_problems(problem in problems(24)) {
        let limits = Limits { time: Duration::from_millis(800), ..Limits::default() };
        let ours = Exact.map(&problem, &limits).unwrap();
        for mapper in mappers() {
            if let Ok(mapping) = mapper.map(&problem, &limits) {
                prop_assert!(ours.makespan <= mapping.makespan, "{}", mapper.name());
                prop_assert!(mapping.lower_bound <= ours.makespan, "{}", mapper.name());
            }
        }
    }
}

#[test]
fn odd_problems_are_solved_or_refused() {
    let limits = Limits::default();
    let none = Problem::new(Vec::new(), Vec::new(), Vec::new()).unwrap();
    assert_eq!(Exact.map(&none, &limits).unwrap().makespan.0, 0);
    let nobody = Problem::new(vec!["conv".into()], vec![vec![None, None]], Vec::new()).unwrap_err();
    assert!(nobody.to_string().contains("'conv'"), "{nobody}");
    let backward = Edge::new(1, 0, vec![vec![0]]);
    let error = Problem::new(vec!["a".into(), "b".into()], vec![vec![Some(1)]; 2], vec![backward]).unwrap_err();
    assert!(matches!(error, MappingError::Shape { .. }));
    // No processor alone can do both.
    let split =
        Problem::new(vec!["a".into(), "b".into()], vec![vec![Some(1), None], vec![None, Some(1)]], Vec::new()).unwrap();
    assert!(matches!(SingleProcessor.map(&split, &limits), Err(MappingError::Unsupported { .. })));
    assert_eq!(Exact.map(&split, &limits).unwrap().makespan.0, 1);
    let instant = Problem::new(vec!["a".into(), "b".into()], vec![vec![Some(0); 2]; 2], Vec::new()).unwrap();
    assert_eq!(Exact.map(&instant, &limits).unwrap().makespan.0, 0);
}

#[test]
fn infinite_times_are_refused() {
    let endless = Problem::new(vec!["a".into()], vec![vec![Some(u64::MAX)]], Vec::new()).unwrap_err();
    assert!(endless.to_string().contains("longer than a day"), "{endless}");
}

#[test]
fn five_thousand_nodes_in_a_chain_are_no_problem() {
    let names = (0..5000).map(|index| format!("n{index}")).collect();
    let edges = (1..5000).map(|to| Edge::new(to - 1, to, vec![vec![0, 5], vec![5, 0]])).collect();
    let times = (0..5000).map(|index| vec![Some(10), Some(9 + index % 3)]).collect();
    let problem = Problem::new(names, times, edges).unwrap();
    let limits = Limits { time: Duration::from_secs(2), ..Limits::default() };
    for mapper in mappers() {
        let mapping = mapper.map(&problem, &limits).unwrap();
        assert!(mapping.makespan.0 <= 55_000, "{}: {}", mapper.name(), mapping.makespan);
    }
}

#[test]
fn a_thousand_branches_keep_to_the_time_limit() {
    let count = 1000;
    let names = (0..count).map(|index| format!("n{index}")).collect();
    let link = vec![vec![0, 5, 5], vec![5, 0, 5], vec![5, 5, 0]];
    let edges = (3..count).map(|to| Edge::new(to - 3 + to % 2, to, link.clone())).collect();
    let time = |index: u64| {
        vec![Some(100 + index * 37 % 91), Some(150 + index * 53 % 77), (!index.is_multiple_of(4)).then_some(200)]
    };
    let problem = Problem::new(names, (0..count as u64).map(time).collect(), edges).unwrap();
    let limits = Limits { time: Duration::from_secs(2), gap: 0.0, ..Limits::default() };
    let mapping = Exact.map(&problem, &limits).unwrap();
    assert!(mapping.lower_bound <= mapping.makespan && mapping.gap() < 0.5, "{}", mapping.gap());
}

#[test]
fn a_cancelled_search_says_so() {
    let cancelled = std::sync::atomic::AtomicBool::new(true);
    let times = (0..40).map(|index| vec![Some(100 + index * 7 % 31), Some(120 + index * 13 % 29), Some(90)]).collect();
    let problem = Problem::new((0..40).map(|index| format!("n{index}")).collect(), times, Vec::new()).unwrap();
    let limits = Limits { cancelled: Some(&cancelled), ..Limits::default() };
    let mapping = Exact.map(&problem, &limits).unwrap();
    assert!(matches!(mapping.outcome, Outcome::Cancelled | Outcome::Optimal), "{mapping:?}");
    assert!(mapping.lower_bound <= mapping.makespan);
}
