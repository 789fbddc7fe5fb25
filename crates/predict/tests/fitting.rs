//! Profiles: what is refused, and what fits recover from samples with known truth.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::ops::Range;

use millstream_board::{Board, ProcessorClass, Provenance};
use millstream_cost::{CostTable, Origin};
use millstream_graph::{Along, Graph};
use millstream_onnx::Model;
use millstream_partition::Chain;
use millstream_predict::samples::{PartSample, SampleConditions, SegmentSample};
use millstream_predict::{NetworkProfile, PredictError, Profile, Statistics, fit};

fn board() -> Board {
    millstream_test_support::board("B1+s1:300")
}

/// True time of block `index`: by no means linear in its work.
fn truth(index: usize, slowness: f64) -> f64 {
    slowness * 1e-4 * (1.0 + (index * 7 % 5) as f64)
}

const HAND_OVER: f64 = 3e-5;

/// All binary subdivisions of the chain.
fn halves(range: Range<usize>, into: &mut Vec<Range<usize>>) {
    into.push(range.clone());
    if range.len() > 1 {
        let middle = range.start + range.len() / 2;
        halves(range.start..middle, into);
        halves(middle..range.end, into);
    }
}

fn profile(model: &Model, chain: &Chain) -> Profile {
    let graph: &Graph = model.graph();
    let provenance = Provenance { tool_version: "0".into(), created: "2026-01-01T00:00:00Z".into() };
    let mut profile = Profile::new(&board(), provenance);
    let mut network = NetworkProfile::new(model.digest(), graph, chain);
    let bytes = chain.input_bytes(graph);
    let mut ranges = Vec::new();
    halves(0..chain.blocks().len(), &mut ranges);
    for (label, slowness) in [("B", 1.0), ("s", 3.0)] {
        for range in &ranges {
            let start_up = if range.start > 0 { HAND_OVER * slowness } else { 0.0 };
            let seconds = start_up + range.clone().map(|index| truth(index, slowness)).sum::<f64>();
            network.samples.push(SegmentSample {
                processor: ProcessorClass::new(label, 1),
                start: range.start,
                end: range.end,
                input_bytes: bytes.of(range.clone()),
                concurrent: 2,
                time: Statistics { median_seconds: seconds, mad_seconds: 0.0, repetitions: 9 },
                conditions: SampleConditions::default(),
            });
        }
    }
    profile.networks.push(network);
    profile
}

fn range_seconds(table: &CostTable, chain: &Chain, label: &str, range: Range<usize>) -> f64 {
    let class = ProcessorClass::new(label, 1);
    let processor = table.find(&class).unwrap();
    chain.operators(range).iter().map(|&id| table.time(processor, id).unwrap().seconds()).sum()
}

/// What each block takes, then what a hand-over does, once and per byte, from what blocks are expected to take: one
/// sample after another moves all by their covariances with the surprise. Another way than that of the fit, which
/// solves normal equations of all at once, to the same times.
fn sequential_fit(expected: &[f64], samples: &[&SegmentSample]) -> Vec<f64> {
    let dot = |one: &[f64], other: &[f64]| one.iter().zip(other).map(|(one, other)| one * other).sum::<f64>();
    let (blocks, size) = (expected.len(), expected.len() + 2);
    // Blocks that were not traced are known to half of what is expected, hand-overs to all of it.
    let mut means = [expected, &[2e-5, 1e-10]].concat();
    let deviation = |index: usize| if index < blocks { 0.5 * means[index] + 1e-9 } else { means[index] };
    let variance = |row: usize, column: usize| if row == column { deviation(row).powi(2) } else { 0.0 };
    let mut covariances: Vec<Vec<f64>> =
        (0..size).map(|row| (0..size).map(|column| variance(row, column)).collect()).collect();

    for sample in samples {
        let mut terms = vec![0.0; size];
        terms[sample.start..sample.end].fill(1.0);
        if sample.start > 0 {
            terms[blocks..].copy_from_slice(&[1.0, sample.input_bytes as f64]);
        }
        // No sample has any spread, and none is believed beyond 0.5 %.
        let seconds = sample.time.median_seconds;
        let shared: Vec<f64> = covariances.iter().map(|row| dot(row, &terms)).collect();
        let precision = 1.0 / (dot(&shared, &terms) + (0.005 * seconds).powi(2));
        let surprise = seconds - dot(&means, &terms);
        for (index, row) in covariances.iter_mut().enumerate() {
            means[index] += shared[index] * precision * surprise;
            row.iter_mut().zip(&shared).for_each(|(cell, other)| *cell -= shared[index] * precision * other);
        }
    }
    means
}

/// Half a nanosecond is lost where a block's time becomes a whole number of them. What is expected comes from a table
/// as well, but samples leave of that rounding less than a hundredth.
const ROUNDING: f64 = 0.6e-9;

#[test]
fn in_context_times_are_those_of_a_fit_by_another_way() {
    let model = millstream_zoo::build("squeezenet").unwrap();
    let chain = Chain::of(model.graph());
    let profile = profile(&model, &chain);
    let table_of = |digest: &str| fit(&profile, &board(), digest, model.graph(), &chain).unwrap();
    // As if it was another network: what is expected without any sample.
    let (table, expected) = (table_of(model.digest()), table_of("unmeasured"));
    for label in ["B", "s"] {
        let class = ProcessorClass::new(label, 1);
        let samples = profile.networks[0].samples.iter().filter(|sample| sample.processor == class);
        let of_block = |table: &CostTable, block: usize| range_seconds(table, &chain, label, block..block + 1);
        let expected: Vec<f64> = (0..chain.blocks().len()).map(|block| of_block(&expected, block)).collect();
        let exact = sequential_fit(&expected, &samples.collect::<Vec<_>>());

        for (block, exact) in exact.iter().enumerate().take(chain.blocks().len()) {
            let found = of_block(&table, block);
            assert!((found - exact).abs() < ROUNDING, "{label} {block}: {found} for {exact}");
        }
        let hand_over = table.hand_over_model(table.find(&class).unwrap());
        assert!((hand_over.seconds - exact[chain.blocks().len()]).abs() < ROUNDING, "{label}: {hand_over:?}");
    }
}

/// How far the fit is from the truth, where nothing but the prior draws it away. A block that is known to half of what
/// is expected, and measured alone to 0.5 %, is drawn by (0.005 * truth / (0.5 * expected))^2 of the difference:
/// 1e-4 * q * |1 - q| of the truth, where q is truth by expected time. None takes more than four times what is
/// expected, so that is 1.2e-3 at the most; ranges, of blocks that are drawn this way and that and were measured in
/// common too, come out closer: within half of it.
const RANGE_TOLERANCE: f64 = 0.6e-3;
/// Hand-overs are differences of samples that are longer by far. After all samples, those of the slow class are known
/// to 2.4e-6 s (by the covariances of `sequential_fit`), and their prior is far off: 2e-5 s, known to as much, for
/// 9e-5 s. That draws them by (2.4e-6 / 2e-5)^2 * 7e-5 s, which is 1.1 %; what the blocks are drawn by adds
/// less than that.
const HAND_OVER_TOLERANCE: f64 = 0.02;

#[test]
fn in_context_times_reproduce_the_samples() {
    let model = millstream_zoo::build("squeezenet").unwrap();
    let chain = Chain::of(model.graph());
    let table = fit(&profile(&model, &chain), &board(), model.digest(), model.graph(), &chain).unwrap();
    for (label, slowness) in [("B", 1.0), ("s", 3.0)] {
        let processor = table.find(&ProcessorClass::new(label, 1)).unwrap();
        let entries = table.operator_ids().map(|operator| table.entry(processor, operator).unwrap());
        assert!(entries.into_iter().all(|entry| entry.origin == Origin::Measured && entry.low <= entry.high));
        let hand_over = table.hand_over(processor, processor, 0).seconds();
        assert!(
            (hand_over / (HAND_OVER * slowness) - 1.0).abs() < HAND_OVER_TOLERANCE,
            "{label}: hand-over {hand_over}"
        );
        // Ranges that were never measured as such.
        for range in [0..chain.blocks().len(), 3..11, 5..30, 17..19] {
            let expected: f64 = range.clone().map(|index| truth(index, slowness)).sum();
            let found = range_seconds(&table, &chain, label, range.clone());
            assert!((found / expected - 1.0).abs() < RANGE_TOLERANCE, "{label} {range:?}: {found} for {expected}");
        }
    }
}

#[test]
fn another_network_is_predicted_by_the_linear_model() {
    let measured = millstream_zoo::build("squeezenet").unwrap();
    let profile = profile(&measured, &Chain::of(measured.graph()));
    let other = millstream_zoo::build("tiny-darknet").unwrap();
    let chain = Chain::of(other.graph());
    let table = fit(&profile, &board(), other.digest(), other.graph(), &chain).unwrap();
    let fast = range_seconds(&table, &chain, "B", 0..chain.blocks().len());
    let slow = range_seconds(&table, &chain, "s", 0..chain.blocks().len());
    let entries = table.class_ids().flat_map(|processor| table.operator_ids().map(move |id| (processor, id)));
    for (processor, id) in entries {
        let entry = table.entry(processor, id).unwrap();
        assert!(entry.origin == Origin::Model && entry.low <= entry.time && entry.time <= entry.high, "{entry:?}");
    }
    // All that was measured takes three times as long there, and coefficients are fitted to relative errors. What is
    // lost is half a nanosecond of each block, or three halves, where their times become whole numbers of them.
    let rounding = 2e-9 * chain.blocks().len() as f64;
    assert!((slow - 3.0 * fast).abs() < rounding, "{fast} {slow}");
}

#[test]
fn sample_order_does_not_matter() {
    let model = millstream_zoo::build("tiny-darknet").unwrap();
    let chain = Chain::of(model.graph());
    let straight = profile(&model, &chain);
    let mut reversed = straight.clone();
    reversed.networks[0].samples.reverse();
    let whole = 0..chain.blocks().len();
    let seconds = |profile: &Profile| {
        let table = fit(profile, &board(), model.digest(), model.graph(), &chain).unwrap();
        range_seconds(&table, &chain, "B", whole.clone())
    };
    assert!((seconds(&straight) - seconds(&reversed)).abs() < 1e-8);
}

/// The profile as a file, with another first sample.
fn with_first_sample(profile: &Profile, change: fn(&mut SegmentSample)) -> String {
    let mut damaged = profile.clone();
    change(&mut damaged.networks[0].samples[0]);
    serde_json::to_string(&damaged).unwrap()
}

/// The profile as a file, with a sample of so many of an operator's four channels.
fn with_part(profile: &Profile, channels: usize) -> String {
    let mut with = profile.clone();
    let SegmentSample { processor, time, .. } = with.networks[0].samples[0].clone();
    let (operators, along, conditions) = (vec![0], Along::Channels, SampleConditions::default());
    let part = PartSample { processor, operators, along, channels, of: 4, concurrent: 1, time, conditions };
    with.networks[0].part_samples.push(part);
    serde_json::to_string(&with).unwrap()
}

#[test]
fn unusable_profiles_are_refused_with_the_reason() {
    let model = millstream_zoo::build("tiny-darknet").unwrap();
    let chain = Chain::of(model.graph());
    let good = profile(&model, &chain);
    let fit = |profile: &Profile, board: &Board| fit(profile, board, model.digest(), model.graph(), &chain);

    let other = millstream_test_support::board("B2");
    assert!(matches!(fit(&good, &other), Err(PredictError::OtherBoard { .. })));

    let mut partial = good.clone();
    partial.networks[0].samples.retain(|sample| sample.processor.cluster == "B");
    let error = fit(&partial, &board()).unwrap_err();
    assert_eq!(error, PredictError::MissingProcessor { class: ProcessorClass::new("s", 1) });

    let text = serde_json::to_string(&good).unwrap();
    assert!(Profile::from_json(&text).is_ok());
    for (channels, is_some) in [(0, false), (1, true), (4, true), (5, false)] {
        assert_eq!(Profile::from_json(&with_part(&good, channels)).is_ok(), is_some, "{channels} of 4 channels");
    }
    let cases = [
        (text.replace("\"version\":2,\"provenance\"", "\"version\":9,\"provenance\""), "profile, version: is 9"),
        (text.replacen("\"median_seconds\":", "\"median_seconds\":-", 1), "samples[0].time.median_seconds"),
        (text.replacen("\"median_seconds\":", "\"mean_seconds\":", 1), "mean_seconds"),
        (text.replacen("\"end\":", "\"end\":9", 1), "samples[0].end"),
        (with_first_sample(&good, |sample| sample.end = sample.start), "samples[0].end"),
        (text[..text.len() / 2].to_owned(), "EOF"),
    ];
    for (damaged, expected) in cases {
        let message = Profile::from_json(&damaged).unwrap_err().to_string();
        assert!(message.contains(expected) && message.contains("profile"), "{message}");
    }
}
