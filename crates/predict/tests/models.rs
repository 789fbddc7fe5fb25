//! Fitted models: what they recover, what they promise, and what they refuse.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::OnceLock;

use millstream_board::{Board, ProcessorClass, Provenance};
use millstream_cost::Origin;
use millstream_graph::{Convolution, Family, GemmShape, OperatorKind, Work};
use millstream_partition::Chain;
use millstream_predict::published::{GemmModel, MulticoreModel, MulticoreSample};
use millstream_predict::samples::{OperatorRecord, OperatorSample, SampleConditions};
use millstream_predict::{
    CostModels, NetworkProfile, PredictError, Predictor, ProcessorModel, Profile, Statistics, TimedOperators,
    UnsupportedOperators, compare, evaluate, predict_unseen,
};
use proptest::prelude::*;

fn board() -> Board {
    millstream_test_support::board("B2")
}

fn provenance() -> Provenance {
    Provenance { tool_version: "0".into(), created: "2026-01-01T00:00:00Z".into() }
}

fn class(count: usize) -> ProcessorClass {
    ProcessorClass::new("B", count)
}

/// A machine whose convolutions fill vectors of eight filters and which pays for bytes and for every operator.
fn truth(operator: &OperatorRecord, cores: f64) -> f64 {
    let work = &operator.work;
    let padded = work.gemm.map_or(work.macs, |gemm| gemm.n * gemm.k * gemm.m.next_multiple_of(8));
    5e-6 + (padded as f64 * 2e-11 + work.bytes() as f64 * 4e-11) / cores
}

/// Some networks of the sweep as they would run on that machine, every operator by itself, with some noise.
fn profile(networks: usize) -> Profile {
    let mut profile = Profile::new(&board(), provenance());
    // Every fifth network of the sweep is quantised, and beside those that are counted.
    for model in millstream_zoo::Sweep::new().take(networks + networks / 4) {
        let model = model.unwrap();
        let chain = Chain::of(model.graph());
        let mut network = NetworkProfile::new(model.digest(), model.graph(), &chain);
        for cores in [1, 2] {
            for (index, operator) in network.blocks.iter().flatten().enumerate() {
                let noise = 1.0 + 0.02 * (((index * 37 + cores * 11) % 19) as f64 / 9.0 - 1.0);
                network.operator_samples.push(OperatorSample {
                    processor: class(cores),
                    operators: vec![index],
                    concurrent: 1,
                    time: Statistics {
                        median_seconds: noise * truth(operator, cores as f64),
                        mad_seconds: 1e-7,
                        repetitions: 9,
                    },
                    conditions: SampleConditions::default(),
                });
            }
        }
        profile.networks.push(network);
    }
    profile
}

fn shared_profile() -> &'static Profile {
    static PROFILE: OnceLock<Profile> = OnceLock::new();
    PROFILE.get_or_init(|| profile(8))
}

fn predictor() -> &'static Predictor {
    static PREDICTOR: OnceLock<Predictor> = OnceLock::new();
    PREDICTOR.get_or_init(|| {
        let observations = TimedOperators::all(shared_profile(), &class(1));
        ProcessorModel::fit(&class(1), &board(), &observations).unwrap().predictor()
    })
}

fn convolution(size: u64, channels: u64, filters: u64, kernel: u64, stride: u64, groups: u64) -> OperatorRecord {
    let output = size.div_ceil(stride);
    let gemm = GemmShape { n: output * output, k: kernel * kernel * channels / groups, m: filters };
    OperatorRecord {
        name: "convolution".into(),
        op_type: "Conv".into(),
        kind: OperatorKind::Convolution(Convolution {
            input_channels: channels as usize,
            output_channels: filters as usize,
            kernel: vec![kernel as usize; 2],
            strides: vec![stride as usize; 2],
            dilations: vec![1; 2],
            groups: groups as usize,
        }),
        work: Work {
            macs: gemm.n * gemm.k * gemm.m,
            input_bytes: 4 * size * size * channels,
            weight_bytes: 4 * gemm.k * gemm.m,
            output_bytes: 4 * gemm.n * gemm.m,
            gemm: Some(gemm),
        },
        input_channels: Some(channels),
    }
}

#[test]
fn operators_are_predicted_by_models_that_do_not_know_their_network() {
    let profile = shared_profile();
    let points = predict_unseen(profile).unwrap();
    let samples: usize = profile.networks.iter().map(|network| network.operator_samples.len()).sum();
    assert!(points.len() * 10 > samples * 9 && points.len() <= samples, "{} of {samples}", points.len());
    assert!(points.iter().any(|point| point.is_product) && points.iter().any(|point| !point.is_product));

    // What is predicted for a network does not change with what was measured of it.
    let mut slower = profile.clone();
    let last = slower.networks.len() - 1;
    for sample in &mut slower.networks[last].operator_samples {
        sample.time.median_seconds *= 3.0;
    }
    let of_last = slower.networks[last].operator_samples.iter().filter(|sample| sample.processor == class(1)).count();
    let again = predict_unseen(&slower).unwrap();
    let predicted = |points: &[millstream_predict::OperatorPrediction]| -> Vec<f64> {
        let own = points.iter().filter(|point| point.processor == class(1));
        own.rev().take(of_last).map(|point| point.predicted_seconds).collect()
    };
    assert_eq!(predicted(&again), predicted(&points));
    assert!(again.last().unwrap().measured_seconds > 2.9 * points.last().unwrap().measured_seconds);

    // Alone in a profile, a network is predicted by models that were fitted to it, which is said.
    assert!(points.iter().all(|point| point.is_unseen));
    slower.networks.truncate(1);
    let alone = predict_unseen(&slower).unwrap();
    assert!(!alone.is_empty() && alone.iter().all(|point| !point.is_unseen));
}

proptest! {
    /// In one shape family (kernel, stride, groups, and whether channels fill vectors), more work never takes less
    /// time.
    #[test]
    fn predictions_are_positive_and_monotone_in_the_work(
        size in 1_u64..300, channels in 1_u64..64, filters in 1_u64..600, more in (0_u64..50, 0_u64..20, 0_u64..200),
        kernel in prop::sample::select(vec![1_u64, 3, 5, 7, 11]), stride in 1_u64..3,
    ) {
        let channels = 8 * channels;
        let small = [convolution(size, channels, filters, kernel, stride, 1)];
        let large = [convolution(size + more.0, channels + 8 * more.1, filters + more.2, kernel, stride, 1)];
        let [small, large] = [small, large].map(|operator| predictor().group(&operator).seconds);
        prop_assert!(small.is_finite() && small > 0.0, "{small}");
        prop_assert!(small <= large, "{small} {large}");
    }

    #[test]
    fn equation_5_is_recovered_from_exact_samples(coefficients in prop::array::uniform8(0.1..10.0_f64)) {
        let scales = [1e-6, 1e-7, 1e-7, 1e-9, 1e-9, 1e-9, 1e-11, 1e-4];
        let mut truth = coefficients;
        truth.iter_mut().zip(scales).for_each(|(coefficient, scale)| *coefficient *= scale);
        let model = GemmModel::new(truth);
        let shapes = [49_u64, 196, 784, 3136].into_iter().flat_map(|n| {
            [32_u64, 288, 1600].into_iter().flat_map(move |k| [16_u64, 64, 256].map(move |m| GemmShape { n, k, m }))
        });
        let samples: Vec<_> = shapes.map(|shape| (shape, model.seconds(&shape))).collect();
        let fitted = GemmModel::fit(&samples).unwrap();
        for (found, expected) in fitted.coefficients().iter().zip(truth) {
            prop_assert!((found / expected - 1.0).abs() < 1e-6, "{found} {expected}");
        }
    }

    #[test]
    fn equation_8_is_recovered_from_exact_samples(alpha in prop::array::uniform3(0.1..10.0_f64)) {
        let truth = MulticoreModel { tile_rows: 16, alpha_1: alpha[0] * 1e-5, alpha_2: alpha[1] * 1e-7, alpha_3: alpha[2] * 1e-5 };
        let sample = |(n, cores): (u64, u64)| {
            let single_core_seconds = n as f64 * 1e-6;
            MulticoreSample { n, cores, single_core_seconds, seconds: truth.seconds(n, cores, single_core_seconds) }
        };
        let samples: Vec<_> = [(49, 1), (784, 1), (49, 2), (196, 2), (3136, 4), (784, 4)].map(sample).to_vec();
        let fitted = MulticoreModel::fit(16, &samples).unwrap();
        for (found, expected) in
            [(fitted.alpha_1, truth.alpha_1), (fitted.alpha_2, truth.alpha_2), (fitted.alpha_3, truth.alpha_3)]
        {
            prop_assert!((found / expected - 1.0).abs() < 1e-6, "{found} {expected}");
        }
        let error = MulticoreModel::fit(16, &samples[2..4]).unwrap_err();
        let is_too_few = matches!(error, PredictError::TooFewSamples { .. });
        prop_assert!(is_too_few);
    }
}

#[test]
fn one_shape_or_one_dimension_only_is_refused_with_the_remedy() {
    let same = [(GemmShape { n: 49, k: 32, m: 16 }, 1e-3); 20];
    let message = GemmModel::fit(&same).unwrap_err().to_string();
    assert!(message.contains("convolutions") && message.contains("profile layers of other shapes"), "{message}");
    let only_n: Vec<_> = (1..30).map(|n| (GemmShape { n, k: 32, m: 16 }, n as f64 * 1e-6)).collect();
    assert!(matches!(GemmModel::fit(&only_n), Err(PredictError::Degenerate { .. })));

    let mut few = profile(1);
    few.networks[0].operator_samples.retain(|sample| sample.operators[0] < 2);
    let message = CostModels::fit(&few, provenance()).unwrap_err().to_string();
    assert!(message.contains("operators on B1") && message.contains("profile for longer"), "{message}");
    let mut missing = profile(1);
    missing.networks[0].operator_samples.retain(|sample| sample.processor.count == 1);
    let error = CostModels::fit(&missing, provenance()).unwrap_err();
    assert_eq!(error, PredictError::MissingProcessor { class: class(2) });
}

#[test]
fn the_order_of_samples_and_networks_changes_nothing() {
    let straight = shared_profile();
    let mut shuffled = straight.clone();
    shuffled.networks.reverse();
    for network in &mut shuffled.networks {
        let middle = network.operator_samples.len() / 3;
        network.operator_samples.rotate_left(middle);
        network.operator_samples.reverse();
    }
    let fit = |profile: &Profile| CostModels::fit(profile, provenance()).unwrap();
    assert!(fit(straight) == fit(&shuffled));
}

#[test]
fn the_default_beats_every_published_model_on_networks_left_out() {
    let rows = compare(shared_profile()).unwrap();
    for cores in [1, 2] {
        for (family, fewest) in [(Family::Convolution, 3), (Family::FullyConnected, 1)] {
            let own: Vec<_> = rows.iter().filter(|row| row.processor.count == cores && row.family == family).collect();
            let (default, published) = own.split_first().unwrap();
            assert!(default.model.starts_with("default") && published.len() >= fewest);
            assert!(default.accuracy.mape < 0.03, "{default:?}");
            for row in published {
                assert!(default.accuracy.mape < row.accuracy.mape, "{default:?} {row:?}");
                assert!(default.accuracy.weighted_mape < row.accuracy.weighted_mape, "{default:?} {row:?}");
            }
        }
    }
    assert!(compare(&profile(1)).unwrap_err().to_string().contains("networks with convolutions on B1"));
}

#[test]
fn networks_of_the_zoo_are_predicted_from_the_sweep_alone() {
    let learned = shared_profile();
    let models = CostModels::fit(learned, provenance()).unwrap();
    let mut test = Profile::new(&board(), provenance());
    for name in ["squeezenet", "tiny-darknet"] {
        let model = millstream_zoo::build(name).unwrap();
        let chain = Chain::of(model.graph());
        let mut network = NetworkProfile::new(model.digest(), model.graph(), &chain);
        for cores in [1, 2] {
            network.operator_samples.extend(network.blocks.iter().flatten().enumerate().map(|(index, operator)| {
                let median_seconds = truth(operator, cores as f64);
                let time = Statistics { median_seconds, mad_seconds: 0.0, repetitions: 9 };
                let conditions = SampleConditions::default();
                OperatorSample { processor: class(cores), operators: vec![index], concurrent: 1, time, conditions }
            }));
        }
        // The entries of the table are the predictions, tagged as such.
        let table = models.table(&board(), model.digest(), model.graph(), &chain).unwrap();
        let processor = table.find(&class(2)).unwrap();
        let total: f64 = network.blocks.iter().flatten().map(|operator| truth(operator, 2.0)).sum();
        let entries: Vec<_> = table.operator_ids().map(|id| table.entry(processor, id).unwrap()).collect();
        let predicted: f64 = entries.iter().map(|entry| entry.time.seconds()).sum();
        assert!((predicted / total - 1.0).abs() < 0.03, "{name}: {predicted} {total}");
        assert!(entries.iter().all(|entry| entry.origin == Origin::Model && entry.low <= entry.high));
        test.networks.push(network);
    }

    let rows = evaluate(&models, learned, &test).unwrap();
    assert_eq!(rows.len(), 4);
    for row in &rows {
        assert!((row.predicted_seconds / row.measured_seconds - 1.0).abs() < 0.03, "{row:?}");
        assert!(row.convolutions.unwrap().mape < row.convolutions_by_gemm.unwrap().mape, "{row:?}");
    }
    assert!(evaluate(&models, learned, learned).unwrap_err().to_string().contains("not fitted to"));

    // Of networks that an engine refuses half of, the other half is compared.
    for network in &mut test.networks {
        let count = network.operators().count();
        let operators: Vec<usize> = (count / 2..count).collect();
        network.operator_samples.retain(|sample| sample.operators.iter().all(|operator| !operators.contains(operator)));
        let engine = class(1).engine;
        network.unsupported.push(UnsupportedOperators { cluster: "B".to_owned(), engine, operators });
    }
    let halves = evaluate(&models, learned, &test).unwrap();
    for (half, row) in halves.iter().zip(&rows) {
        assert!((half.predicted_seconds / half.measured_seconds - 1.0).abs() < 0.03, "{half:?}");
        assert!(half.measured_seconds < 0.9 * row.measured_seconds, "{half:?} {row:?}");
    }
}

#[test]
fn files_of_models_survive_a_round_trip_and_refuse_damage() {
    let models = CostModels::fit(shared_profile(), provenance()).unwrap();
    let text = serde_json::to_string(&models).unwrap();
    assert!(CostModels::from_json(&text).unwrap() == models);
    let cases = [
        (text.replacen("\"version\":1,\"provenance\"", "\"version\":7,\"provenance\"", 1), "version: is 7"),
        (text.replacen("\"seconds\":", "\"seconds\":-", 1), "processors[0].families[0]"),
        (text.replacen("\"name\":\"operators\"", "\"name\":\"magic\"", 1), "not a term that this version knows"),
        (text.replacen("\"cache_bytes\"", "\"cash_bytes\"", 1), "cash_bytes"),
        (text[..text.len() / 2].to_owned(), "EOF"),
    ];
    for (damaged, expected) in cases {
        let message = CostModels::from_json(&damaged).unwrap_err().to_string();
        assert!(message.contains(expected) && message.contains("file of cost models"), "{message}");
    }
    let other = millstream_test_support::board("B1");
    let model = millstream_zoo::build("tiny-darknet").unwrap();
    let table = models.table(&other, model.digest(), model.graph(), &Chain::of(model.graph()));
    assert!(matches!(table, Err(PredictError::OtherBoard { .. })));
}

/// A profile in which convolutions take exactly what equations 5 and 8 say; on one core these are the same.
#[test]
fn tables_take_pipe_its_models_of_convolutions_where_these_were_fitted() {
    let coefficients = [2e-9, 3e-8, 1e-8, 2e-11, 3e-12, 4e-10, 5e-12, 3e-6];
    let (gemm, several) =
        (GemmModel::new(coefficients), MulticoreModel { tile_rows: 16, alpha_1: 8e-6, alpha_2: 0.0, alpha_3: 8e-6 });
    let seconds = |shape: &GemmShape, cores: u64| match cores {
        1 => gemm.seconds(shape),
        more => several.seconds(shape.n, more, gemm.seconds(shape)),
    };

    let mut profile = shared_profile().clone();
    for network in &mut profile.networks {
        let records = network.blocks.concat();
        for sample in &mut network.operator_samples {
            let main = sample
                .operators
                .iter()
                .filter_map(|&index| records.get(index))
                .find(|own| own.family() == Family::Convolution && own.work.gemm.is_some());
            if let Some(shape) = main.and_then(|own| own.work.gemm) {
                sample.time.median_seconds = seconds(&shape, sample.processor.count as u64);
            }
        }
    }

    let models = CostModels::fit(&profile, provenance()).unwrap().with_pipe_it(&profile).unwrap();
    let models = CostModels::from_json(&serde_json::to_string(&models).unwrap()).unwrap();
    let own = &models.convolutions[0];
    assert!(own.coefficients.iter().zip(coefficients).all(|(own, truth)| (own / truth - 1.0).abs() < 1e-4), "{own:?}");
    let network = millstream_zoo::build("squeezenet").unwrap();
    let (graph, chain) = (network.graph(), Chain::of(network.graph()));
    let table = models.table(&board(), network.digest(), graph, &chain).unwrap();
    let mut seen = 0;
    for (processor, cores) in table.class_ids().zip(1..) {
        for id in graph.operator_ids().filter(|&id| graph.operator(id).op_type == "Conv") {
            let shape = graph.operator(id).work.gemm.unwrap();
            let (own, truth) = (table.time(processor, id).unwrap().seconds(), seconds(&shape, cores));
            assert!((own / truth - 1.0).abs() < 2e-3, "{cores}: {own} {truth}");
            seen += 1;
        }
    }
    assert_eq!(seen, 2 * 26);
}
