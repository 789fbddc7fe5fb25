//! Subgraphs of published networks (Para-Pipe, table I) and of random ones.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::HashSet;

use millstream_graph::{DataType, Graph, GraphBuilder, NewOperator, OperatorId, OperatorKind, Shape, ValueId};
use millstream_partition::{Subgraph, subgraphs};
use proptest::prelude::*;

#[test]
fn counts_and_parallelism_are_those_of_table_1() {
    for (name, count, parallelism) in [
        ("googlenet", 11, 4),
        ("inception-v3", 13, 6),
        ("inception-v4", 21, 6),
        ("inception-resnet-v2", 45, 4),
        ("petr-like", 24, 16),
        ("bevformer-like", 25, 4),
    ] {
        let model = millstream_zoo::build(name).unwrap();
        let found = subgraphs(model.graph());
        assert_eq!(found.len(), count, "{name}");
        assert_eq!(found.iter().map(|subgraph| subgraph.parallelism).max(), Some(parallelism), "{name}");
        check(model.graph(), &found);
    }
}

#[test]
fn the_largest_subgraph_of_the_petr_like_network_has_169_operators() {
    let model = millstream_zoo::build("petr-like").unwrap();
    let largest = subgraphs(model.graph()).into_iter().map(|subgraph| subgraph.operators().count()).max();
    assert_eq!(largest, Some(169));
}

#[test]
fn a_network_without_branches_falls_apart_into_its_merged_operators() {
    let model = millstream_zoo::build("vgg16").unwrap();
    let found = subgraphs(model.graph());
    assert_eq!(found.len(), 16, "13 convolutions and 3 fully connected layers, with what follows each");
    assert!(found.iter().all(|subgraph| subgraph.nodes.len() == 1 && subgraph.is_chain()));
    check(model.graph(), &found);
}

/// Every operator once, nothing before what it reads, between subgraphs only the last node's values, and no value of
/// unknown type between nodes, since nothing can be handed over there.
fn check(graph: &Graph, found: &[Subgraph]) {
    let order: Vec<OperatorId> = found.iter().flat_map(Subgraph::operators).collect();
    assert_eq!(order.iter().collect::<HashSet<_>>().len(), graph.operators().len());
    assert_eq!(order.len(), graph.operators().len());
    let mut done: HashSet<OperatorId> = HashSet::new();
    for (index, subgraph) in found.iter().enumerate() {
        let own: HashSet<OperatorId> = subgraph.operators().collect();
        let sink: HashSet<OperatorId> = match index.checked_sub(1).and_then(|before| found[before].nodes.last()) {
            Some(node) => node.iter().copied().collect(),
            None => HashSet::new(),
        };
        for id in subgraph.operators() {
            for producer in graph.operator(id).inputs.iter().filter_map(|&value| graph.producer(value)) {
                assert!(done.contains(&producer), "{:?} runs before what it reads", graph.operator(id).name);
                assert!(own.contains(&producer) || sink.contains(&producer), "{}", graph.operator(id).name);
            }
            done.insert(id);
        }

        for node in &subgraph.nodes {
            let outside = |&value: &ValueId| graph.producer(value).is_some_and(|producer| !node.contains(&producer));
            let read = node.iter().flat_map(|&id| graph.operator(id).inputs.iter().copied()).filter(outside);
            let untyped: Vec<_> = read.filter(|&value| graph.value(value).data_type.is_none()).collect();
            assert!(untyped.is_empty(), "{untyped:?}");
        }
        let node_of = |id: OperatorId| subgraph.nodes.iter().position(|node| node.contains(&id));
        for (to, node) in subgraph.nodes.iter().enumerate() {
            for producer in
                node.iter().flat_map(|&id| &graph.operator(id).inputs).filter_map(|&value| graph.producer(value))
            {
                if let Some(from) = node_of(producer).filter(|&from| from != to) {
                    assert!(subgraph.edges.contains(&(from, to)));
                }
            }
        }
    }
}

/// The values of these numbers have no known type.
fn random_graph(edges: &[(usize, usize)], count: usize, untyped: &[usize]) -> Graph {
    let mut builder = GraphBuilder::new("random");
    let input = builder.value("input", Some(DataType::F32), Some(Shape::from([1]))).unwrap();
    builder.input(input);
    let values: Vec<_> = (0..count)
        .map(|index| {
            let data_type = (!untyped.contains(&index)).then_some(DataType::F32);
            builder.value(format!("v{index}"), data_type, Some(Shape::from([1]))).unwrap()
        })
        .collect();
    for index in 0..count {
        let mut reads: Vec<_> =
            edges.iter().filter(|(from, to)| *to == index && from < to).map(|&(from, _)| values[from]).collect();
        reads.dedup();
        if reads.is_empty() {
            reads.push(input);
        }
        let operator = NewOperator::new(format!("o{index}"), "x", OperatorKind::Opaque);
        builder.operator(operator.reads(reads).makes([values[index]])).unwrap();
    }
    builder.output(values[count - 1]);
    builder.build().unwrap()
}

proptest! {
    #[test]
    fn subgraphs_of_random_networks_only_read_the_sink_before_them(
        edges in prop::collection::btree_set((0_usize..12, 0_usize..12), 0..30),
        untyped in prop::collection::vec(0_usize..12, 0..3),
    ) {
        let edges: Vec<_> = edges.into_iter().collect();
        let graph = random_graph(&edges, 12, &untyped);
        check(&graph, &subgraphs(&graph));
    }
}

#[test]
fn long_chains_with_a_branch_are_no_problem() {
    let mut edges: Vec<(usize, usize)> = (0..3000).map(|index| (index, index + 1)).collect();
    edges.push((0, 2));
    let graph = random_graph(&edges, 3001, &[]);
    let found = subgraphs(&graph);
    assert_eq!(found.iter().map(|subgraph| subgraph.nodes.len()).collect::<Vec<_>>(), [1, 2, 2998]);
}
