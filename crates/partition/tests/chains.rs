//! Chains of random and of real networks.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use millstream_graph::{DataType, Graph, GraphBuilder, NewOperator, OperatorKind, Shape};
use millstream_partition::{BlockRange, Chain};
use proptest::prelude::*;

/// A random DAG whose operators are of mixed kinds; value `v` has `4 * (v + 1)` bytes. Some values have no type.
fn random_graph(edges: &[(usize, usize)], kinds: &[u8], untyped: &[bool]) -> Graph {
    let mut builder = GraphBuilder::new("random");
    let input = builder.value("input", Some(DataType::F32), Some(Shape::from([1]))).unwrap();
    builder.input(input);
    let values: Vec<_> = (0..kinds.len())
        .map(|index| {
            let data_type = (!untyped[index]).then_some(DataType::F32);
            builder.value(format!("v{index}"), data_type, Some(Shape::from([index + 1]))).unwrap()
        })
        .collect();
    for (index, kind) in kinds.iter().enumerate() {
        let (kind, op_type) = match kind % 5 {
            0 => (OperatorKind::Opaque, "x"),
            1 => (OperatorKind::Activation, "x"),
            2 => (OperatorKind::Quantization, "QuantizeLinear"),
            3 => (OperatorKind::Quantization, "DequantizeLinear"),
            _ => (OperatorKind::Elementwise, "x"),
        };
        let mut reads: Vec<_> =
            edges.iter().filter(|(from, to)| *to == index && from < to).map(|&(from, _)| values[from]).collect();
        if reads.is_empty() {
            reads.push(input);
        }
        builder
            .operator(NewOperator::new(format!("o{index}"), op_type, kind).reads(reads).makes([values[index]]))
            .unwrap();
    }
    builder.output(values[kinds.len() - 1]);
    builder.build().unwrap()
}

proptest! {
    #[test]
    fn a_chain_is_a_topological_order_of_all_operators(
        edges in prop::collection::vec((0_usize..14, 0_usize..14), 0..40),
        kinds in prop::collection::vec(any::<u8>(), 14),
        untyped in prop::collection::vec(prop::bool::weighted(0.1), 14),
    ) {
        let graph = random_graph(&edges, &kinds, &untyped);
        let chain = Chain::of(&graph);
        let operators = chain.operators(chain.whole());
        prop_assert_eq!(operators.len(), graph.operators().len());
        let position = |id| operators.iter().position(|&other| other == id).unwrap();
        for id in graph.operator_ids() {
            for &value in &graph.operator(id).inputs {
                if let Some(producer) = graph.producer(value) {
                    prop_assert!(position(producer) < position(id));
                    let block_of = |id| chain.blocks().iter().position(|block| block.operators.contains(&id));
                    let is_one = graph.operator(producer).op_type == "DequantizeLinear"
                        || graph.operator(id).op_type == "QuantizeLinear";
                    prop_assert!(!is_one || block_of(producer) == block_of(id), "a quantised operator is torn apart");
                }
            }
        }

        let bytes = chain.input_bytes(&graph);
        for start in 0..chain.blocks().len() {
            for end in start + 1..=chain.blocks().len() {
                let stage = chain.operators(start..end);
                prop_assert_eq!(chain.find(&stage), Some(BlockRange::from(start..end)));
                let received = graph.boundary(&stage).inputs.into_iter().filter(|&value| graph.producer(value).is_some());
                let received: Vec<_> = received.map(|value| graph.value(value)).collect();
                prop_assert!(received.iter().all(|value| value.data_type.is_some()), "an untyped value crosses");
                prop_assert_eq!(bytes.of(start..end), received.iter().filter_map(|value| value.bytes()).sum::<u64>());
            }
        }
    }
}

/// Only whole blocks in their order are a part of a chain.
#[test]
fn other_operators_than_those_of_blocks_are_not_found() {
    let model = millstream_zoo::build("resnet50").unwrap();
    let chain = Chain::of(model.graph());
    let place = chain.blocks().iter().position(|block| block.operators.len() > 1).unwrap();
    let own = &chain.blocks()[place].operators;
    assert_eq!(chain.find(own), Some(BlockRange::from(place..place + 1)));
    assert_eq!(chain.find(&own[..own.len() - 1]), None);
    let mut swapped = own.clone();
    swapped.reverse();
    assert_eq!(chain.find(&swapped), None);
}

#[test]
fn fused_operators_stay_together() {
    // Blocks = convolutions + poolings + concatenations + fully connected layers: everything else is merged into them.
    for (name, blocks) in [("vgg16", 13 + 5 + 3), ("googlenet", 57 + 4 + 9 + 9 + 1 + 1), ("resnet50", 53 + 2 + 1)] {
        let model = millstream_zoo::build(name).unwrap();
        assert_eq!(Chain::of(model.graph()).blocks().len(), blocks, "{name}");
    }
}
