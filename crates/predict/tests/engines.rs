//! Costs of the same cores with several engines.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use millstream_board::{Board, EngineName, ProcessorClass, Provenance};
use millstream_cost::{CostTable, Nanoseconds};
use millstream_graph::OperatorId;
use millstream_onnx::{Model, ModelBuilder, Weight};
use millstream_partition::Chain;
use millstream_predict::samples::{OperatorSample, SampleConditions, SegmentSample};
use millstream_predict::{LeftOutEngine, NetworkProfile, PredictError, Profile, Statistics, UnsupportedOperators, fit};

fn board() -> Board {
    millstream_test_support::board("B1@onnxruntime,openvino")
}

/// A convolution, and an operator that engines may run as one with it.
fn model() -> Model {
    let mut builder = ModelBuilder::new("pair");
    let input = builder.input("x", [1, 4, 8, 8]);
    let filter = builder.weight("filter", &Weight::from_f32([4, 4, 1, 1], vec![0.5; 16]));
    let map = builder.node("Conv", &[&input, &filter]);
    let last = builder.node("Relu", &[&map]);
    builder.output(&last);
    builder.build().unwrap()
}

/// What each group of operators took with each engine, in microseconds.
fn profile(model: &Model, samples: &[(EngineName, &[usize], f64)]) -> Profile {
    let provenance = Provenance { tool_version: "0".into(), created: "2026-01-01T00:00:00Z".into() };
    let mut profile = Profile::new(&board(), provenance);
    let mut network = NetworkProfile::new(model.digest(), model.graph(), &Chain::of(model.graph()));
    for &(engine, operators, microseconds) in samples {
        network.operator_samples.push(OperatorSample {
            processor: ProcessorClass::new("B", 1).with_engine(engine),
            operators: operators.to_vec(),
            concurrent: 1,
            time: Statistics { median_seconds: 1e-6 * microseconds, mad_seconds: 0.0, repetitions: 9 },
            conditions: SampleConditions::default(),
        });
    }
    profile.networks.push(network);
    profile
}

/// What blocks took on a core with an engine, as a segment.
fn segment(engine: EngineName, [start, end]: [usize; 2], microseconds: f64) -> SegmentSample {
    SegmentSample {
        processor: ProcessorClass::new("B", 1).with_engine(engine),
        start,
        end,
        input_bytes: 0,
        concurrent: 1,
        time: Statistics { median_seconds: 1e-6 * microseconds, mad_seconds: 0.0, repetitions: 9 },
        conditions: SampleConditions::default(),
    }
}

fn costs(profile: &Profile, model: &Model) -> Result<CostTable, PredictError> {
    fit(profile, &board(), model.digest(), model.graph(), &Chain::of(model.graph()))
}

fn times(table: &CostTable, engine: EngineName) -> [Option<Nanoseconds>; 2] {
    let processor = table.find(&ProcessorClass::new("B", 1).with_engine(engine)).unwrap();
    [0, 1].map(|operator| table.time(processor, OperatorId::new(operator)))
}

/// Otherwise neither operator would take any time with the quicker engine for it.
#[test]
fn what_any_engine_runs_as_one_has_its_time_at_the_first_operator_with_all() {
    let model = model();
    let (onnx_runtime, openvino) = (EngineName::OnnxRuntime, EngineName::OpenVino);
    let separate = [(onnx_runtime, &[0_usize][..], 30.0), (onnx_runtime, &[1], 70.0)];
    let fused = [(openvino, &[0_usize, 1][..], 80.0)];
    let table = costs(&profile(&model, &[&separate[..], &fused].concat()), &model).unwrap();
    assert_eq!(times(&table, onnx_runtime), [Some(Nanoseconds(100_000)), Some(Nanoseconds::ZERO)]);
    assert_eq!(times(&table, openvino), [Some(Nanoseconds(80_000)), Some(Nanoseconds::ZERO)]);

    let also_separate = [(openvino, &[0_usize][..], 20.0), (openvino, &[1], 90.0)];
    let table = costs(&profile(&model, &[&separate[..], &also_separate].concat()), &model).unwrap();
    assert_eq!(times(&table, onnx_runtime), [30_000, 70_000].map(|time| Some(Nanoseconds(time))));
    assert_eq!(times(&table, openvino), [20_000, 90_000].map(|time| Some(Nanoseconds(time))));
}

#[test]
fn an_engine_that_was_left_out_runs_nothing() {
    let model = model();
    let mut profile = profile(&model, &[(EngineName::OnnxRuntime, &[0, 1], 100.0)]);
    let missing = costs(&profile, &model).unwrap_err().to_string();
    assert!(missing.contains("B1@openvino"), "{missing}");
    let unsupported =
        UnsupportedOperators { cluster: "B".to_owned(), engine: EngineName::OpenVino, operators: vec![0, 1] };
    profile.networks[0].unsupported.push(unsupported);
    profile.networks[0].left_out = LeftOutEngine::of(&profile.networks[0], &board());
    let table = costs(&profile, &model).unwrap();
    assert_eq!(times(&table, EngineName::OpenVino), [None, None]);
    assert!(times(&table, EngineName::OnnxRuntime)[0].is_some());
}

/// An engine may tell nothing of what it runs, as of operators that take no time.
#[test]
fn blocks_that_an_engine_refuses_are_for_others_though_it_was_not_traced() {
    let model = chain_of_convolutions();
    let (onnx_runtime, openvino) = (EngineName::OnnxRuntime, EngineName::OpenVino);
    let mut profile = profile(&model, &[(onnx_runtime, &[0, 1, 2, 3], 100.0)]);
    let network = &mut profile.networks[0];
    network.unsupported = vec![UnsupportedOperators { cluster: "B".to_owned(), engine: openvino, operators: vec![2] }];
    network.left_out = LeftOutEngine::of(network, &board());
    assert_eq!(network.left_out, []);
    for ends in [[0, 2], [0, 1], [3, 4]] {
        network.samples.push(segment(openvino, ends, 20.0));
    }
    let table = costs(&profile, &model).unwrap();
    let processor = table.find(&ProcessorClass::new("B", 1).with_engine(openvino)).unwrap();
    let runs = [0, 1, 2, 3].map(|operator| table.time(processor, OperatorId::new(operator)).is_some());
    assert_eq!(runs, [true, true, false, true]);
}

/// What an engine refuses is for others, and so is what is in one block with it.
#[test]
fn blocks_with_operators_that_an_engine_refuses_are_for_others() {
    let model = chain_of_convolutions();
    let (onnx_runtime, openvino) = (EngineName::OnnxRuntime, EngineName::OpenVino);
    let places: Vec<[usize; 1]> = (0..4).map(|place| [place]).collect();
    let own = places.iter().map(|place| (onnx_runtime, &place[..], 30.0));
    let other = [0, 1, 3].map(|place: usize| (openvino, &places[place][..], 10.0));
    let mut profile = profile(&model, &own.chain(other).collect::<Vec<_>>());
    let network = &mut profile.networks[0];
    network.unsupported = vec![UnsupportedOperators { cluster: "B".to_owned(), engine: openvino, operators: vec![2] }];
    network.left_out = LeftOutEngine::of(network, &board());
    assert_eq!(network.left_out, [], "it is quicker at three of four blocks");
    let said = network.unsupported_text(&network.unsupported[0]);
    assert!(said.starts_with("openvino does not run 1 of 4 operators on B: ") && said.ends_with(" (Conv)"), "{said}");

    let times = |profile: &Profile, engine| {
        let table = costs(profile, &model).unwrap();
        let processor = table.find(&ProcessorClass::new("B", 1).with_engine(engine)).unwrap();
        [0, 1, 2, 3].map(|operator| table.time(processor, OperatorId::new(operator)).map(|time| time.0))
    };
    assert_eq!(times(&profile, openvino), [Some(10_000), Some(10_000), None, Some(10_000)]);
    assert_eq!(times(&profile, onnx_runtime), [Some(30_000); 4]);

    // Segments say more of the blocks that it runs.
    for (start, end, microseconds) in [(0, 2, 40.0), (0, 1, 20.0), (3, 4, 20.0)] {
        profile.networks[0].samples.push(segment(openvino, [start, end], microseconds));
    }
    let [first, second, refused, last] = times(&profile, openvino);
    assert_eq!(refused, None);
    assert!([first, second].iter().all(|time| (15_000..25_000).contains(&time.unwrap())), "{first:?} {second:?}");
    assert!(last.is_some());
    let text = serde_json::to_string(&profile).unwrap();
    assert_eq!(Profile::from_json(&text).unwrap().networks[0].unsupported, profile.networks[0].unsupported);
    let refused =
        Profile::from_json(&text.replace("\"operators\":[2]}", "\"operators\":[4]}")).unwrap_err().to_string();
    assert!(refused.contains("networks[0].unsupported[0].operators: must name operators below 4"), "{refused}");
}

/// A chain of convolutions of the same work, but for the last, whose work is four times theirs.
fn chain_of_convolutions() -> Model {
    let mut builder = ModelBuilder::new("chain");
    let mut value = builder.input("x", [1, 4, 8, 8]);
    for channels in [4, 4, 4, 16] {
        let filter = builder.weight("filter", &Weight::from_f32([channels, 4, 1, 1], vec![0.5; channels * 4]));
        value = builder.node("Conv", &[&value, &filter]);
    }
    builder.output(&value);
    builder.build().unwrap()
}

/// An engine that tells only what the whole network takes: each block has a part of it, and segments say how large.
#[test]
fn a_node_that_does_the_work_of_several_blocks_is_divided_among_them() {
    let model = chain_of_convolutions();
    let each: Vec<(EngineName, Vec<usize>, f64)> =
        (0..4).map(|operator| (EngineName::OnnxRuntime, vec![operator], 30.0)).collect();
    let mut samples: Vec<(EngineName, &[usize], f64)> =
        each.iter().map(|(engine, operators, time)| (*engine, &operators[..], *time)).collect();
    samples.push((EngineName::OpenVino, &[0, 1, 2, 3], 700.0));
    let mut profile = profile(&model, &samples);
    let class = ProcessorClass::new("B", 1).with_engine(EngineName::OpenVino);
    let times = |profile: &Profile| {
        let table = costs(profile, &model).unwrap();
        let processor = table.find(&class).unwrap();
        [0, 1, 2, 3].map(|operator| table.time(processor, OperatorId::new(operator)).unwrap().seconds() * 1e6)
    };
    assert_eq!(times(&profile), [175.0; 4]);
    assert_eq!(profile.networks[0].timed_together(), std::collections::BTreeSet::from([class.clone()]));

    for (start, end, microseconds) in [(0, 4, 700.0), (0, 2, 200.0), (2, 4, 500.0), (0, 1, 100.0), (3, 4, 400.0)] {
        profile.networks[0].samples.push(segment(EngineName::OpenVino, [start, end], microseconds));
    }
    for (made, expected) in times(&profile).into_iter().zip([100.0, 100.0, 100.0, 400.0]) {
        assert!((made / expected - 1.0).abs() < 0.1, "{made} microseconds, not {expected}");
    }
}

/// What a segment costs an engine at its ends, beside its blocks: for bringing what it takes in into its own layout, and
/// for making what it hands out readable for everybody.
struct Ends {
    engine: EngineName,
    block_seconds: f64,
    /// Seconds for a byte.
    taking_in: f64,
    handing_out: f64,
}

/// One is quick to take in and slow to hand out, and the other the other way round. What the ends take stays within how
/// far a block may be from its trace.
const ENDS: [Ends; 2] = [
    Ends { engine: EngineName::OnnxRuntime, block_seconds: 3e-4, taking_in: 1e-11, handing_out: 2e-10 },
    Ends { engine: EngineName::OpenVino, block_seconds: 2e-4, taking_in: 1.5e-10, handing_out: 5e-12 },
];

/// A chain of eight convolutions over maps of all sizes.
fn chain_of_sizes() -> Model {
    let mut builder = ModelBuilder::new("sizes");
    let mut channels = 4;
    let mut value = builder.input("x", [1, channels, 64, 64]);
    for made in [16, 3, 12, 20, 5, 9, 14, 7] {
        let filter = builder.weight("filter", &Weight::from_f32([made, channels, 1, 1], vec![0.5; made * channels]));
        value = builder.node("Conv", &[&value, &filter]);
        channels = made;
    }
    builder.output(&value);
    builder.build().unwrap()
}

/// Samples of the whole, its halves, quarters and so on.
fn segments(
    engine: EngineName,
    count: usize,
    input_bytes: &dyn Fn(std::ops::Range<usize>) -> u64,
    seconds: &dyn Fn(std::ops::Range<usize>) -> f64,
) -> Vec<SegmentSample> {
    let sample = |range: std::ops::Range<usize>| SegmentSample {
        processor: ProcessorClass::new("B", 1).with_engine(engine),
        start: range.start,
        end: range.end,
        input_bytes: input_bytes(range.clone()),
        concurrent: 1,
        time: Statistics { median_seconds: seconds(range), mad_seconds: 0.0, repetitions: 9 },
        conditions: SampleConditions::default(),
    };
    let lengths = [1, 2, 4, 8].into_iter();
    lengths.flat_map(|length| (0..count).step_by(length).map(move |start| start..start + length)).map(sample).collect()
}

/// What a change of the engine costs depends on both: on how the one hands out and how the other takes in. Segments
/// are measured with both ends, and never in pairs; what they say is enough for every pair at every place.
#[test]
fn a_change_of_the_engine_costs_what_one_hands_out_and_the_other_takes_in() {
    let model = chain_of_sizes();
    let (graph, chain) = (model.graph(), Chain::of(model.graph()));
    let count = chain.blocks().len();
    assert_eq!(count, 8);
    let input_bytes = chain.input_bytes(graph);
    // What crosses before each block: nothing before the first and behind the last.
    let crossing: Vec<f64> = (0..=count)
        .map(|cut| if cut == 0 || cut == count { 0.0 } else { input_bytes.of(cut..cut + 1) as f64 })
        .collect();
    let truth = |ends: &Ends, range: std::ops::Range<usize>| {
        ends.block_seconds * range.len() as f64
            + ends.taking_in * crossing[range.start]
            + ends.handing_out * crossing[range.end]
    };

    let traced: Vec<(EngineName, Vec<usize>, f64)> = ENDS
        .iter()
        .flat_map(|ends| (0..count).map(|operator| (ends.engine, vec![operator], 1e6 * ends.block_seconds)))
        .collect();
    let traced: Vec<(EngineName, &[usize], f64)> =
        traced.iter().map(|(engine, operators, time)| (*engine, &operators[..], *time)).collect();
    let mut profile = profile(&model, &traced);
    for ends in &ENDS {
        let seconds = |range: std::ops::Range<usize>| truth(ends, range);
        profile.networks[0].samples.extend(segments(ends.engine, count, &|range| input_bytes.of(range), &seconds));
    }

    let table = costs(&profile, &model).unwrap();
    let class = |ends: &Ends| table.find(&ProcessorClass::new("B", 1).with_engine(ends.engine)).unwrap();
    let blocks = |ends: &Ends, range: std::ops::Range<usize>| -> f64 {
        chain.operators(range).iter().map(|&id| table.time(class(ends), id).unwrap().seconds()).sum()
    };
    let [one, other] = &ENDS;
    let mut dearest = 0.0_f64;
    for (cut, &crosses) in crossing.iter().enumerate().take(count).skip(1) {
        let bytes = crosses as u64;
        let expected = |[first, second]: [&Ends; 2]| truth(first, 0..cut) + truth(second, cut..count);
        let predicted = |[first, second]: [&Ends; 2]| {
            let hand_over = table.hand_over(class(first), class(second), bytes).seconds();
            blocks(first, 0..cut) + hand_over + blocks(second, cut..count)
        };
        for pair in [[one, one], [one, other], [other, one], [other, other]] {
            let error = predicted(pair) / expected(pair) - 1.0;
            // No sample is believed to be closer.
            assert!(error.abs() < 0.005, "{} to {} before block {cut}: {error}", pair[0].engine, pair[1].engine);
        }
        // Whoever took one side's word for both would be further off where much crosses.
        let at_cut = |[first, second]: [&Ends; 2]| crosses * (first.handing_out + second.taking_in);
        dearest = dearest.max((at_cut([one, other]) - at_cut([other, one])) / expected([one, other]));
    }
    assert!(dearest > 0.025, "the two orders differ by {dearest} at the most");
}
