//! Each convolution has its own time, whatever OpenVINO calls the node that runs it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod fetched;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use millstream_backend::{Observed, OperatorTimes, Segment, Tensor};
use millstream_backend_openvino::OpenVinoBackend;
use millstream_board::Processor;
use millstream_onnx::{Attributes, Model, ModelBuilder, Weight};

use fetched::library;

fn trace(model: &Arc<Model>, input: Tensor) -> Option<Vec<OperatorTimes>> {
    let backend = OpenVinoBackend::new(&library()?, Arc::clone(model));
    let mut frames = 0;
    let mut go_on = |_: Duration| {
        frames += 1;
        frames < 20
    };
    let segment = Segment::new(model.graph(), model.graph().order().to_vec());
    Some(backend.trace(&segment, &Processor::new("B", [0]), &[input], &mut go_on).unwrap())
}

/// Batch normalisation is behind every convolution of these; OpenVINO calls such nodes by numbers.
#[test]
fn each_convolution_of_a_network_has_its_own_time() {
    for name in ["mobilenet-v1", "resnet50", "inception-v3"] {
        let model = Arc::new(millstream_zoo::build(name).unwrap());
        let graph = model.graph();
        let size = if name == "inception-v3" { 299 } else { 224 };
        let frame = Tensor::from_f32([1, 3, size, size], vec![0.5; 3 * size * size]);
        let Some(times) = trace(&model, frame) else { return };
        for node in &times {
            let is_convolution = |id: &&_| graph.operator(**id).op_type == "Conv";
            assert!(node.operators.iter().filter(is_convolution).count() <= 1, "{name}: {:?}", node.operators);
        }
    }
}

/// Adds a convolution with its normalisation, 64 channels to so many, and returns what it makes.
fn normalised(builder: &mut ModelBuilder, name: &str, input: &str, kernel: usize, channels: usize) -> String {
    let weights = channels * 64 * kernel * kernel;
    let shape = [channels, 64, kernel, kernel];
    let weight =
        builder.weight(name, &Weight::from_f32(shape, (0..weights).map(|at| (at % 13) as f32 * 0.01).collect()));
    let pads = Attributes::new().ints("pads", &[(kernel / 2) as i64; 4]);
    builder.named_node(name, "Conv", &[input, &weight], &[&format!("{name}_made")], pads);
    let constant = |builder: &mut ModelBuilder, value: f32| {
        builder.weight("of", &Weight::from_f32([channels], vec![value; channels]))
    };
    let rest = [0.5, 0.1, 0.2, 2.0].map(|value| constant(builder, value));
    let [scale, shift, mean, variance] = &rest;
    builder.node("BatchNormalization", &[&format!("{name}_made"), scale, shift, mean, variance])
}

/// Two branches whose convolutions take very different times, added either way round: the times are at the right ones.
#[test]
fn branches_keep_their_times() {
    for is_large_first in [true, false] {
        let mut builder = ModelBuilder::new("branches");
        let input = builder.input("x", [1, 64, 56, 56]);
        let large = normalised(&mut builder, "large", &input, 5, 64);
        let small = normalised(&mut builder, "small", &input, 1, 64);
        let (one, other) = if is_large_first { (&large, &small) } else { (&small, &large) };
        let sum = builder.node("Add", &[one, other]);
        let sum = builder.node("Relu", &[&sum]);
        let last = normalised(&mut builder, "last", &sum, 3, 64);
        builder.output(&last);
        let model = Arc::new(builder.build().unwrap());

        let Some(times) = trace(&model, Tensor::from_f32([1, 64, 56, 56], vec![0.5; 64 * 56 * 56])) else { return };
        let graph = model.graph();
        // The least, as others may use the cores as well.
        let mut least = BTreeMap::new();
        for node in &times {
            let seconds = node.seconds.iter().copied().fold(f64::INFINITY, f64::min);
            least.extend(node.operators.iter().map(|&id| (graph.operator(id).name.clone(), seconds)));
        }
        // 25, 9 and 1 times the same work.
        assert!(least["large"] > least["last"] && least["last"] > least["small"], "{is_large_first}: {least:?}");
    }
}
