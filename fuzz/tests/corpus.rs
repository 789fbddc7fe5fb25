//! Everything that fuzzing has found to be worth trying is tried once, without libFuzzer.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use millstream_fuzz::TARGETS;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Changed inputs of each target.
const CHANGED: usize = 2000;

fn corpora() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/corpus"))
}

#[test]
fn every_target_has_a_corpus_and_every_corpus_a_target() {
    let folders: BTreeSet<String> =
        fs::read_dir(corpora()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    let targets: BTreeSet<String> = TARGETS.iter().map(|target| target.name.to_owned()).collect();
    assert_eq!(folders, targets);
}

fn inputs(target: &str) -> Vec<Vec<u8>> {
    let mut paths: Vec<_> = fs::read_dir(corpora().join(target)).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

#[test]
fn every_target_survives_its_corpus() {
    for target in TARGETS {
        let inputs = inputs(target.name);
        assert!(!inputs.is_empty(), "{} has no inputs", target.name);
        inputs.iter().for_each(|input| (target.body)(input));
    }
}

/// The short form of fuzzing: the same changes each time, of inputs from all over the corpus.
#[test]
fn every_target_survives_some_changes_of_its_corpus() {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    for target in TARGETS {
        let inputs = inputs(target.name);
        for _ in 0..CHANGED {
            let mut input = inputs[random.random_range(0..inputs.len())].clone();
            let other = &inputs[random.random_range(0..inputs.len())];
            for _ in 0..random.random_range(1..4) {
                change(&mut input, other, &mut random);
            }
            let survives = std::panic::catch_unwind(|| (target.body)(&input));
            assert!(survives.is_ok(), "{}: {}", target.name, input.escape_ascii());
        }
    }
}

/// Changes a byte, or puts a piece of another input in the place of one of this.
fn change(input: &mut Vec<u8>, other: &[u8], random: &mut ChaCha8Rng) {
    let mut piece = |length: usize| {
        let start = random.random_range(0..=length);
        start..start + random.random_range(0..=(length - start).min(16))
    };
    let (from, to) = (piece(other.len()), piece(input.len()));
    if random.random() && !input.is_empty() {
        let place = random.random_range(0..input.len());
        input[place] = random.random();
    } else {
        input.splice(to, other[from].iter().copied());
    }
}
