//! Networks of several subgraphs against every way to run them one after the other.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod problems;

use millstream_board::ProcessorClass;
use millstream_cost::{BlockedEnd, ClassId, CostTable, Nanoseconds, TransferModel};
use millstream_graph::{DataType, Graph, GraphBuilder, NewOperator, OperatorKind, Shape, ValueId};
use millstream_mapping::{
    Cpop, Heft, MapperLimits, Outcome, ProcessorId, SingleProcessor, compose, entered_problem, map_network,
};
use millstream_partition::{Subgraph, subgraphs};
use problems::best_order;
use proptest::prelude::*;

/// Diamonds one behind the other: a stem whose value some branches read, and a join.
fn diamonds(branches: &[usize]) -> Graph {
    let mut builder = GraphBuilder::new("diamonds");
    let made = |builder: &mut GraphBuilder, name: &str| -> ValueId {
        builder.value(name, Some(DataType::F32), Some(Shape::from([25]))).unwrap()
    };
    let mut last = made(&mut builder, "input");
    builder.input(last);
    for (number, &branches) in branches.iter().enumerate() {
        let operator = |name: String| NewOperator::new(&name, "x", OperatorKind::Opaque);
        let stem = made(&mut builder, &format!("stem{number}"));
        builder.operator(operator(format!("s{number}")).reads([last]).makes([stem])).unwrap();
        let mut ends = Vec::new();
        for branch in 0..branches {
            let end = made(&mut builder, &format!("branch{number}-{branch}"));
            builder.operator(operator(format!("b{number}-{branch}")).reads([stem]).makes([end])).unwrap();
            ends.push(end);
        }
        last = made(&mut builder, &format!("join{number}"));
        builder.operator(operator(format!("j{number}")).reads(ends).makes([last])).unwrap();
    }
    builder.output(last);
    builder.build().unwrap()
}

/// Two processors with these times, and transfers that may occupy one of their ends.
fn table(graph: &Graph, times: &[u64], transfers: [u64; 2], blocks: Option<BlockedEnd>) -> CostTable {
    let classes = ["A", "B"].map(|cluster| ProcessorClass::new(cluster, 1));
    let mut table = CostTable::new(graph.operators().len(), classes);
    let processors: Vec<ClassId> = table.class_ids().collect();
    let mut times = times.iter().cycle();
    for id in graph.operator_ids() {
        for &processor in &processors {
            table.set_time(processor, id, Nanoseconds(*times.next().unwrap()));
        }
    }
    for (from, to, time) in [(0, 1, transfers[0]), (1, 0, transfers[1])] {
        let model = TransferModel { latency_seconds: time as f64 * 1e-9, blocks, ..TransferModel::default() };
        table.set_transfer(processors[from], processors[to], model);
    }
    table
}

/// The least time from `next` on if the subgraph before ended on `source`, by trying every order of every subgraph and
/// every processor on which it may end.
fn least(graph: &Graph, all: &[Subgraph], table: &CostTable, next: usize, source: Option<ProcessorId>) -> Nanoseconds {
    let Some(subgraph) = all.get(next) else { return Nanoseconds::ZERO };
    let processors: Vec<ClassId> = table.class_ids().collect();
    let before = source.map(|source| (all[next - 1].nodes.last().unwrap().as_slice(), source));
    let ends = ProcessorId::all(processors.len()).map(|end| {
        let mut problem = entered_problem(graph, subgraph, table, &processors, before).unwrap();
        problem.fix(problem.last_node().unwrap(), end).unwrap();
        best_order(&problem) + least(graph, all, table, next + 1, Some(end))
    });
    ends.min().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn networks_are_composed_optimally_and_no_bound_is_too_high(
        branches in prop::collection::vec(2_usize..=3, 1..=2),
        times in prop::collection::vec(1_u64..30, 20),
        transfers in prop::array::uniform2(0_u64..15),
        blocks in prop::sample::select(vec![None, Some(BlockedEnd::Sender), Some(BlockedEnd::Receiver)]),
    ) {
        let graph = diamonds(&branches);
        let all = subgraphs(&graph);
        prop_assert!(all.len() >= branches.len());
        let table = table(&graph, &times, transfers, blocks);
        let processors: Vec<ClassId> = table.class_ids().collect();
        let limits = MapperLimits::default();
        let best = least(&graph, &all, &table, 0, None);

        let mapped = map_network(&graph, &all, &table, &processors, &limits, 1).unwrap();
        prop_assert_eq!((mapped.makespan, mapped.lower_bound, mapped.outcome), (best, best, Outcome::Optimal));
        // Mappers that are often beaten: their bounds must not be what they found.
        for mapper in [&Heft as &(dyn millstream_mapping::Mapper + Sync), &Cpop, &SingleProcessor] {
            let composed = compose(&graph, &all, &table, &processors, mapper, &limits, 1).unwrap();
            prop_assert!(composed.lower_bound <= best && composed.makespan >= best, "{}", mapper.name());
        }
    }
}
