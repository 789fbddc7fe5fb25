//! Tiles of rows beside the whole: put together, they are the same.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::ops::Range;

use millstream_backend::{Backend, Segment, Tensor};
use millstream_backend_ort::{Environment, OrtBackend};
use millstream_board::Processor;
use millstream_graph::{Along, DataType, Graph, OperatorId, TileRegion};
use millstream_onnx::Model;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Inputs of a segment, drawn at random.
fn inputs(graph: &Graph, segment: &Segment, random: &mut ChaCha8Rng) -> Vec<Tensor> {
    let of = |&value| {
        let value = graph.value(value);
        let shape = value.shape.clone().unwrap();
        let elements = shape.elements() as usize;
        match value.data_type.unwrap() {
            DataType::F32 => Tensor::from_f32(shape, (0..elements).map(|_| random.random_range(-1.0..1.0)).collect()),
            DataType::I64 => {
                // Places in tables among them.
                let places = (0..elements).flat_map(|_| random.random_range(0_i64..4).to_ne_bytes());
                Tensor::from_bytes(DataType::I64, shape, places.collect())
            }
            other => {
                let bytes = elements * other.bytes().unwrap();
                Tensor::from_bytes(other, shape, (0..bytes).map(|_| random.random_range(0..100)).collect())
            }
        }
    };
    segment.boundary.inputs.iter().map(of).collect()
}

fn run(backend: &OrtBackend, segment: &Segment, inputs: &[Tensor]) -> Tensor {
    let mut made = backend.prepare(segment, &Processor::new("B", [0])).unwrap().run(inputs).unwrap();
    assert_eq!(made.len(), 1);
    made.remove(0)
}

/// Whether the results are the same but for the last bits: for maps of other sizes, the engine may add in another
/// order.
fn agree(made: &[u8], expected: &[f32], what: &str) {
    let largest = expected.iter().map(|one| one.abs()).fold(0.0, f32::max);
    let made = made.chunks_exact(4).map(|bytes| f32::from_ne_bytes(bytes.try_into().unwrap()));
    assert_eq!(made.len(), expected.len(), "{what}");
    let furthest = made.zip(expected).map(|(made, expected)| (made - expected).abs()).fold(0.0, f32::max);
    assert!(furthest <= 3e-6 * largest, "{what}: {furthest} of {largest}");
}

/// The bytes of values that lie one after the other along a dimension.
fn joined(parts: &[Tensor], axis: usize) -> Vec<u8> {
    let outer: usize = parts[0].shape().dimensions()[..axis].iter().product();
    let bytes: Vec<&[u8]> = parts.iter().map(|part| part.bytes().unwrap()).collect();
    let piece = |bytes: &&[u8], index: usize| {
        let size = bytes.len() / outer;
        bytes[index * size..(index + 1) * size].to_vec()
    };
    (0..outer).flat_map(|index| bytes.iter().flat_map(move |part| piece(part, index))).collect()
}

/// The longest runs of operators, in the network's order, that can be divided, and shorter ones of them; and attention
/// by heads.
fn regions(graph: &Graph, along: Along, random: &mut ChaCha8Rng) -> Vec<Vec<OperatorId>> {
    if along == Along::Heads {
        return graph.head_groups();
    }
    let order = graph.order();
    let mut found = Vec::new();
    let mut start = 0;
    while start < order.len() {
        let longest =
            (start + 1..=order.len()).rev().find(|&end| TileRegion::new(graph, &order[start..end], along).is_some());
        if let Some(end) = longest {
            found.push(order[start..end].to_vec());
            for _ in 0..12 {
                let from = random.random_range(start..end);
                let to = random.random_range(from..end) + 1;
                if TileRegion::new(graph, &order[from..to], along).is_some() {
                    found.push(order[from..to].to_vec());
                }
            }
        }
        start = longest.unwrap_or(start) + 1;
    }
    found
}

fn cuts(rows: usize, random: &mut ChaCha8Rng) -> Vec<Range<usize>> {
    let mut places = vec![0, rows];
    places.extend((0..random.random_range(1..4)).map(|_| random.random_range(1..rows)));
    places.sort_unstable();
    places.dedup();
    places.windows(2).map(|pair| pair[0]..pair[1]).collect()
}

fn check(model: Model, seed: u64) -> usize {
    let graph = model.graph().clone();
    let backend = OrtBackend::new(&Environment::load().unwrap(), std::sync::Arc::new(model));
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut checked = 0;

    let alongs = [Along::Rows, Along::Columns, Along::Heads];
    let all: Vec<(Along, Vec<OperatorId>)> = alongs
        .into_iter()
        .flat_map(|along| regions(&graph, along, &mut random).into_iter().map(move |region| (along, region)))
        .collect();
    for (along, operators) in all {
        let region = TileRegion::new(&graph, &operators, along).unwrap();
        let whole = Segment::new(&graph, operators.clone());
        let inputs = inputs(&graph, &whole, &mut random);
        let expected = run(&backend, &whole, &inputs);
        let cuts = cuts(region.rows(), &mut random);
        let tiles: Vec<Tensor> = cuts
            .iter()
            .map(|rows| run(&backend, &Segment::tile(&graph, operators.clone(), along, rows.clone()), &inputs))
            .collect();
        let names = [operators.first(), operators.last()].map(|id| graph.operator(*id.unwrap()).name.clone());
        let made = joined(&tiles, region.axis());
        let what = format!("{} {names:?} {} {cuts:?} of {}", graph.name(), along.name(), region.rows());
        match expected.as_f32() {
            Some(expected) => agree(&made, expected, &what),
            None => assert_eq!(made, expected.bytes().unwrap(), "{what}"),
        }
        checked += 1;
    }
    checked
}

#[test]
fn tiles_make_what_the_whole_makes() {
    for (index, name) in [
        "googlenet",
        "squeezenet",
        "mobilenet-v1",
        "tiny-darknet",
        "resnet50",
        "inception-v3",
        "yolov3",
        "mobilenet-v2-int8",
        "minilm-like-int8",
        "bevformer-like",
        "petr-like",
        "resnet50-int8",
    ]
    .into_iter()
    .enumerate()
    {
        let checked = check(millstream_zoo::build(name).unwrap(), index as u64);
        assert!(checked > 0, "{name}: {checked}");
    }
}
