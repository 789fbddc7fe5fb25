//! Everything that fuzzing has found to be worth trying is tried once, without libFuzzer.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use millstream_fuzz::TARGETS;

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

#[test]
fn every_target_survives_its_corpus() {
    for target in TARGETS {
        let mut inputs = 0;
        for entry in fs::read_dir(corpora().join(target.name)).unwrap() {
            (target.body)(&fs::read(entry.unwrap().path()).unwrap());
            inputs += 1;
        }
        assert!(inputs > 0, "{} has no inputs", target.name);
    }
}
