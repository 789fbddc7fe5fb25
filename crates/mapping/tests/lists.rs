//! List scheduling against its published example, and against cases worked by hand.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod problems;

use millstream_cost::Nanoseconds;
use millstream_mapping::{
    Cpop, Edge, Heft, LayerSwitched, Mapper, MapperLimits, MappingProblem, ProcessorId, SingleProcessor, TaskId,
};
use problems::published_example;

/// Numbers of the nodes of each processor with their starts, and when everything is done.
fn schedule(mapper: &dyn Mapper, problem: &MappingProblem) -> (Vec<Vec<(usize, u64)>>, u64) {
    let mapping = mapper.map(problem, &MapperLimits::default()).unwrap();
    let execution = problem.execute(&mapping.order).unwrap();
    let start = |&node: &TaskId| (node.index(), execution.span(node).start.0);
    let started = |nodes: &Vec<TaskId>| nodes.iter().map(start).collect();
    assert_eq!(execution.makespan(), mapping.makespan);
    (mapping.order.iter().map(started).collect(), mapping.makespan.0)
}

/// What a mapper makes of the published example, as [`schedule`] has it, with nodes counted from 1 as in the paper.
fn published(mapper: &dyn Mapper) -> (Vec<Vec<(usize, u64)>>, u64) {
    let (mut nodes, makespan) = schedule(mapper, &published_example());
    nodes.iter_mut().flatten().for_each(|(node, _)| *node += 1);
    (nodes, makespan)
}

/// A problem of nodes with a time per processor and the same transfer between any two processors.
fn problem(times: &[&[Option<u64>]], edges: &[(usize, usize, u64)]) -> MappingProblem {
    let processors = times[0].len();
    let names = (0..times.len()).map(|node| format!("n{node}")).collect();
    let transfers = |time: u64| vec![vec![Nanoseconds(time); processors]; processors];
    let edge = |&(from, to, time): &(usize, usize, u64)| Edge::new(TaskId::new(from), TaskId::new(to), transfers(time));
    let edges = edges.iter().map(edge);
    let row = |times: &&[Option<u64>]| times.iter().map(|time| time.map(Nanoseconds)).collect();
    MappingProblem::new(names, times.iter().map(row).collect(), edges.collect()).unwrap()
}

/// Figure 3a: nodes in the order 1 3 4 2 5 6 9 7 8 10.
#[test]
fn heft_ends_the_published_example_at_80() {
    let expected =
        vec![vec![(2, 27), (8, 57)], vec![(4, 18), (6, 26), (9, 56), (10, 73)], vec![(1, 0), (3, 9), (5, 28), (7, 38)]];
    assert_eq!(published(&Heft), (expected, 80));
}

/// Figure 3b: the critical path 1 2 9 10 takes 66, 54 and 63 on the three processors, so all of it is on the second
/// one.
#[test]
fn cpop_ends_the_published_example_at_86() {
    let expected = vec![
        vec![(3, 28), (7, 39)],
        vec![(1, 0), (2, 16), (5, 35), (9, 65), (10, 79)],
        vec![(4, 25), (6, 42), (8, 54)],
    ];
    assert_eq!(published(&Cpop), (expected, 86));
}

/// Node 0 runs on processor 0 and node 1, which reads it, on processor 1: 4 until it is made, 2 to get there, so that
/// processor 1 has nothing to do until 6. Ranks are 14 and 8, so that node 2 comes last.
fn with_a_gap_of_6(last: u64) -> MappingProblem {
    problem(&[&[Some(4), None], &[None, Some(8)], &[None, Some(last)]], &[(0, 1, 2)])
}

#[test]
fn heft_puts_a_node_into_a_gap_that_it_just_fits() {
    assert_eq!(schedule(&Heft, &with_a_gap_of_6(6)), (vec![vec![(0, 0)], vec![(2, 0), (1, 6)]], 14));
}

#[test]
fn heft_leaves_gaps_that_are_too_short() {
    assert_eq!(schedule(&Heft, &with_a_gap_of_6(7)), (vec![vec![(0, 0)], vec![(1, 6), (2, 14)]], 21));
}

/// Node 2 can't start before 1, so the gap until 6 is one too short for it, though it has the length.
#[test]
fn heft_counts_gaps_from_when_inputs_are_there() {
    let mut problem = with_a_gap_of_6(6);
    problem.set_release(TaskId::new(2), ProcessorId::new(1), Nanoseconds(1));
    assert_eq!(schedule(&Heft, &problem), (vec![vec![(0, 0)], vec![(1, 6), (2, 14)]], 20));
}

/// Processor 0 is faster for every node, but a node that ends at 10 + 5 there ends at 12 on the idle processor 1.
#[test]
fn heft_chooses_where_a_node_ends_first_rather_than_where_it_is_fast() {
    let two = problem(&[&[Some(10), Some(20)], &[Some(5), Some(12)]], &[]);
    assert_eq!(schedule(&Heft, &two), (vec![vec![(0, 0)], vec![(1, 0)]], 12));
}

/// The critical path 0 1 takes 12 on processor 0 and 11 on processor 1; node 0 alone would be done sooner on
/// processor 0.
#[test]
fn cpop_keeps_the_critical_path_on_the_processor_that_is_fastest_for_all_of_it() {
    let path = problem(&[&[Some(2), Some(3)], &[Some(10), Some(8)], &[Some(1), Some(2)]], &[(0, 1, 1)]);
    assert_eq!(schedule(&Cpop, &path), (vec![vec![(2, 0)], vec![(0, 0), (1, 3)]], 11));
}

/// Switching from processor 0 to 1 costs 3 and saves 6 - 1 = 5; switching back would cost 3 again and save 3 - 2 = 1
/// only, and then make the last node take 5 instead of 1.
#[test]
fn layers_switch_processors_where_that_pays() {
    let times: [&[Option<u64>]; 4] =
        [&[Some(1), Some(9)], &[Some(6), Some(1)], &[Some(2), Some(3)], &[Some(5), Some(1)]];
    let chain = problem(&times, &[(0, 1, 3), (1, 2, 3), (2, 3, 3)]);
    assert_eq!(schedule(&LayerSwitched, &chain), (vec![vec![(0, 0)], vec![(1, 4), (2, 5), (3, 8)]], 9));
}

/// 12 on processor 0 and 11 on processor 1, although node 0 is faster on the former. Nothing has to be transferred.
#[test]
fn a_single_processor_is_the_fastest_for_everything() {
    let three = problem(&[&[Some(2), Some(4)], &[Some(10), Some(7)]], &[(0, 1, 5)]);
    assert_eq!(schedule(&SingleProcessor, &three), (vec![vec![], vec![(0, 0), (1, 4)]], 11));
    let nobody = problem(&[&[Some(5), Some(5)], &[Some(5), None], &[None, Some(5)]], &[]);
    let refusal = SingleProcessor.map(&nobody, &MapperLimits::default()).unwrap_err();
    assert!(refusal.to_string().contains("'n1'"), "the first that not all can run: {refusal}");
}

#[test]
fn methods_have_the_names_of_the_literature() {
    let methods: [&dyn Mapper; 4] = [&Heft, &Cpop, &LayerSwitched, &SingleProcessor];
    assert_eq!(methods.map(Mapper::name), ["HEFT", "CPOP", "layer-switched", "single processor"]);
}
