//! Building the cost table of a large network for many processors.

#![allow(missing_docs, clippy::unwrap_used, reason = "a benchmark")]

use millstream_board::{Board, Provenance};
use millstream_onnx::{Attributes, Model, ModelBuilder, Weight};
use millstream_partition::Chain;
use millstream_predict::samples::{OperatorSample, SampleConditions};
use millstream_predict::{CostModels, NetworkProfile, Profile, Statistics};

fn main() {
    divan::main();
}

/// A chain of 300 convolutions with an activation each.
fn network() -> Model {
    let mut builder = ModelBuilder::new("long");
    let mut map = builder.input("image", [1, 32, 28, 28]);
    for _ in 0..300 {
        let filter = builder.weight("filter", &Weight::from_f32([32, 32, 3, 3], vec![0.01; 32 * 32 * 9]));
        let convolved = builder.node_with("Conv", &[&map, &filter], Attributes::new().ints("pads", &[1; 4]));
        map = builder.node("Sigmoid", &[&convolved]);
    }
    builder.output(&map);
    builder.build().unwrap()
}

fn models(board: &Board) -> CostModels {
    let provenance = Provenance { tool_version: "0".into(), created: "2026-01-01T00:00:00Z".into() };
    let mut profile = Profile::new(board, provenance.clone());
    for model in millstream_zoo::Sweep::new().take(3) {
        let model = model.unwrap();
        let mut network = NetworkProfile::new(model.digest(), model.graph(), &Chain::of(model.graph()));
        for processor in board.processor_classes() {
            for (index, operator) in network.blocks.iter().flatten().enumerate() {
                let median_seconds = 5e-6 + operator.work.macs as f64 * 1e-11 + operator.work.bytes() as f64 * 1e-10;
                network.operator_samples.push(OperatorSample {
                    processor: processor.clone(),
                    operators: vec![index],
                    concurrent: 1,
                    time: Statistics { median_seconds, mad_seconds: 0.0, repetitions: 9 },
                    conditions: SampleConditions::default(),
                });
            }
        }
        profile.networks.push(network);
    }
    CostModels::fit(&profile, provenance).unwrap()
}

#[divan::bench]
fn table_of_600_operators_on_8_processors(bencher: divan::Bencher<'_, '_>) {
    let board = millstream_test_support::board("B4+s4:300");
    let models = models(&board);
    let network = network();
    let chain = Chain::of(network.graph());
    bencher.bench(|| models.table(&board, network.digest(), network.graph(), &chain).unwrap());
}
