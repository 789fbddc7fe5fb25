//! The fine program by itself.

#![cfg(feature = "highs")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::time::Duration;

use millstream_cost::Nanoseconds;
use millstream_mapping::{BoundedMapper, Edge, FineIlp, Mapper, MapperLimits, MappingProblem, TaskId};

/// A source, so many branches of two nodes, and a sink, on two processors that suit the branches differently.
fn branches(count: usize) -> MappingProblem {
    let nodes = 2 * count + 2;
    let transfer = [[0, 3], [2, 0]].map(|row| row.map(Nanoseconds).to_vec()).to_vec();
    let edge = |from, to| Edge::new(TaskId::new(from), TaskId::new(to), transfer.clone());
    let edges = (0..count).flat_map(|branch| {
        let first = 1 + 2 * branch;
        [edge(0, first), edge(first, first + 1), edge(first + 1, nodes - 1)]
    });
    let times = |node: u64| [5 + node * 7 % 11, 4 + node * 5 % 13].map(|time| Some(Nanoseconds(time))).to_vec();
    let names = (0..nodes).map(|node| node.to_string()).collect();
    MappingProblem::new(names, (0..nodes as u64).map(times).collect(), edges.collect()).unwrap()
}

#[test]
fn a_solution_is_the_solvers_own_or_none() {
    let small = branches(2);
    let limits = MapperLimits { program_time: Duration::from_secs(60), ..MapperLimits::default() };
    let solution = FineIlp.solution(&small, &limits).unwrap().unwrap();
    assert_eq!(solution.makespan, BoundedMapper.map(&small, &limits).unwrap().makespan);
    assert_eq!(solution, FineIlp.map(&small, &limits).unwrap());
    let none = MapperLimits { program_time: Duration::ZERO, ..limits };
    let large = branches(40);
    assert_eq!(FineIlp.solution(&large, &none).unwrap(), None, "something else stands in for it");
    assert!(FineIlp.map(&large, &none).is_ok());
}
