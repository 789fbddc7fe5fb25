//! What is done with a model that could be read: everything that a search and a backend ask of it.

use std::ops::Range;

use millstream_graph::OperatorId;
use millstream_onnx::{Model, ReadOptions, WeightStorage};
use millstream_partition::{BlockRange, Chain};

/// The most operators of a model that are looked at one by one: more take longer and reach the same code.
const MOST_OPERATORS: usize = 12;
/// The most bytes of weights that the reader may compute, so that memory shows when something else makes them.
const MOST_FOLDED_BYTES: u64 = 1 << 20;
/// The most bytes of weights in files beside the model.
const MOST_WEIGHT_BYTES: u64 = 1 << 20;

/// Sizes for the dimensions that made-up models leave open.
pub(crate) fn options() -> ReadOptions {
    let dimensions = [("n", 2), ("height", 8)].map(|(name, size)| (name.to_owned(), size));
    ReadOptions::default()
        .with_dimensions(dimensions)
        .with_most_folded_bytes(MOST_FOLDED_BYTES)
        .with_most_weight_bytes(MOST_WEIGHT_BYTES)
}

/// Cuts a model into blocks, segments and parts. Errors are answers; panics are not.
pub(crate) fn examine(model: &Model) {
    let graph = model.graph();
    let whole = model.segment(graph.order(), WeightStorage::Inline);
    if let Ok(whole) = whole {
        assert_eq!(whole.inputs.len(), graph.boundary(graph.order()).inputs.len(), "inputs of the whole network");
    }
    let chain = Chain::of(graph);
    assert_eq!(chain.operators(chain.whole()).len(), graph.operators().len(), "every operator is in one block");
    let bytes = chain.input_bytes(graph);
    for start in 0..chain.blocks().len().min(MOST_OPERATORS) {
        let operators = chain.operators(BlockRange::from(start..start + 1));
        let _ = model.segment(&operators, WeightStorage::External);
        assert!(bytes.of(start..start + 1) >= bytes.of(start..start), "no block receives less than none");
    }
    for &operator in graph.order().iter().take(MOST_OPERATORS) {
        parts(model, operator);
    }
}

/// Divides an operator, alone and with all that follows it, into its first channels and the others.
fn parts(model: &Model, operator: OperatorId) {
    let graph = model.graph();
    let Some(units) = graph.channel_units(operator) else {
        assert!(model.segment_part(&[operator], &(0..1), WeightStorage::External).is_err(), "nothing to divide");
        return;
    };
    assert!(units.unit > 0 && units.channels.is_multiple_of(units.unit), "{units:?}");
    let together: Vec<OperatorId> = std::iter::once(operator).chain(graph.channel_followers(operator)).collect();
    let ranges: [Range<usize>; 3] = [0..units.unit, units.unit..units.channels, 0..units.channels];
    for range in ranges {
        let _ = model.segment_part(&[operator], &range, WeightStorage::External);
        let _ = model.segment_part(&together, &range, WeightStorage::Inline);
    }
}
