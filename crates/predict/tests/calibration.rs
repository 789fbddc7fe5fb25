//! Calibration finds the speeds that made the measurements.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use millstream_board::{Board, Provenance};
use millstream_onnx::Model;
use millstream_partition::Chain;
use millstream_predict::CostModels;
use millstream_predict::calibration::{Calibration, MeasuredNetwork, Measurements, calibrate};
use millstream_test_support::board;

const BOARD: &str = "B4~2000+s2:500+F:4";
const NETWORKS: [&str; 5] = ["alexnet", "squeezenet", "googlenet", "mobilenet-v1", "vgg16"];
/// Seconds per multiply-accumulate that cores share, and per byte of weights that they do not.
const MACS: f64 = 4e-10;
const WEIGHTS: f64 = 1e-10;

/// What a network takes on so many cores.
fn seconds(model: &Model, cores: f64) -> f64 {
    let operators = model.graph().operators();
    let sum = |of: &dyn Fn(&millstream_graph::Operator) -> u64| operators.iter().map(of).sum::<u64>() as f64;
    MACS / cores * sum(&|own| own.work.macs) + WEIGHTS * sum(&|own| own.work.weight_bytes)
}

fn measurements(models: &[Model]) -> String {
    let row = |(name, model): (&&str, &Model), cores: usize, hertz: u64| {
        let rate = hertz as f64 / 2000.0 / seconds(model, cores as f64);
        format!(
            r#"{{"model": "{name}", "processor": {{"cluster": "B", "count": {cores}}}, "frames_per_second": {rate},
                "hertz": {hertz}, "source": "made up"}}"#
        )
    };
    // Four cores were measured at half the clock.
    let of_network = |pair: (&&str, &Model)| format!("{}, {}", row(pair, 1, 2000), row(pair, 4, 1000));
    let rows: Vec<String> = NETWORKS.iter().zip(models).map(of_network).collect();
    let line = r#"{"slope": 1e-9, "intercept": 1e-8}"#;
    format!(
        r#"{{"format": "millstream-measurements", "version": 1, "throughputs": [{}], "stated": [
            {{"label": "s", "costs": {{"like": {{"label": "B", "slowness": 3.0}}}}, "source": "made up"}},
            {{"label": "F", "costs": {{"processing-elements": {{"computation": {line}, "transfer": {line}, "flush": {line},
                "invalidation": {line}, "processing_elements": 4, "coherence": "software", "buffering": "single"}}}}, "source": "made up"}}]}}"#,
        rows.join(", ")
    )
}

fn calibrated() -> (Board, Calibration) {
    let models: Vec<Model> = NETWORKS.iter().map(|name| millstream_zoo::build(name).unwrap()).collect();
    let chains: Vec<Chain> = models.iter().map(|model| Chain::of(model.graph())).collect();
    let board = board(BOARD);
    let networks: Vec<MeasuredNetwork<'_>> = NETWORKS
        .iter()
        .zip(&models)
        .zip(&chains)
        .map(|((name, model), chain)| MeasuredNetwork { name, digest: model.digest(), graph: model.graph(), chain })
        .collect();
    let measurements = Measurements::from_json(&measurements(&models)).unwrap();
    let provenance = Provenance { tool_version: "test".into(), created: "now".into() };
    let calibration = calibrate(&board, &measurements, &networks, provenance).unwrap();
    (board, calibration)
}

#[test]
fn speeds_come_back_and_carry_over_to_other_networks() {
    let (board, Calibration { models, rows }) = calibrated();
    assert_eq!(rows.len(), 2 * NETWORKS.len());
    for row in &rows {
        assert!((row.fitted_seconds / row.measured_seconds - 1.0).abs() < 1e-6, "{row:?}");
    }
    // Through a file, and for a network that was not measured.
    let models = CostModels::from_json(&serde_json::to_string(&models).unwrap()).unwrap();
    let network = millstream_zoo::build("resnet50").unwrap();
    let table = models.table(&board, network.digest(), network.graph(), &Chain::of(network.graph())).unwrap();
    for processor in table.class_ids() {
        let class = &table.classes()[processor.index()];
        let times = network.graph().operator_ids().filter_map(|id| table.time(processor, id));
        let total: f64 = times.map(|time| time.seconds()).sum();
        let expected = match class.cluster.as_str() {
            "B" => seconds(&network, class.count as f64),
            "s" => 3.0 * seconds(&network, class.count as f64),
            _ => continue,
        };
        assert!((total / expected - 1.0).abs() < 1e-3, "{class}: {total} {expected}");
    }
    // Only convolutions run on processing elements.
    let accelerator = table.class_ids().last().unwrap();
    let is_there = |id: millstream_graph::OperatorId| table.time(accelerator, id).is_some();
    let is_convolution = |id: millstream_graph::OperatorId| network.graph().operator(id).op_type == "Conv";
    assert!(network.graph().operator_ids().all(|id| is_there(id) == is_convolution(id)));
}

#[test]
fn models_with_impossible_factors_are_refused() {
    let (_, Calibration { mut models, .. }) = calibrated();
    models.networks[0].factor = -1.0;
    let error = CostModels::from_json(&serde_json::to_string(&models).unwrap()).unwrap_err();
    assert!(error.to_string().contains("networks[0].factor: is -1, must be positive"), "{error}");
}
