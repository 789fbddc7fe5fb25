//! A status for each thing that becomes of a frame, and of a session without its engine.

#![cfg(all(unix, feature = "ort"))]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use millstream_api::graph::DataType;
use millstream_onnx::{Attributes, ModelBuilder, Weight, WeightStorage};
use support::{Language, Workplace, library, small_network};

fn bytes(builder: ModelBuilder) -> Vec<u8> {
    let model = builder.build().unwrap();
    model.segment(model.graph().order(), WeightStorage::Inline).unwrap().bytes
}

/// A row of a table of five.
fn indexed() -> Vec<u8> {
    let mut builder = ModelBuilder::new("indexed");
    let index = builder.typed_open_input("index", DataType::I64, &["1"]);
    let table = builder.weight("table", &Weight::from_f32([5, 2], (0..10_u8).map(f32::from).collect()));
    let row = builder.node("Gather", &[&table, &index]);
    builder.output(&row);
    bytes(builder)
}

/// Multiplies two matrices as large as the frame says.
fn growing() -> Vec<u8> {
    let mut builder = ModelBuilder::new("growing");
    let size = builder.typed_open_input("size", DataType::I64, &["1"]);
    let shape = builder.node_with("Concat", &[&size, &size], Attributes::new().int("axis", 0));
    let square = builder.node("ConstantOfShape", &[&shape]);
    let product = builder.node("MatMul", &[&square, &square]);
    let mean = builder.node("ReduceMean", &[&product]);
    builder.output(&mean);
    bytes(builder)
}

#[test]
fn frames_that_fail_take_long_or_are_to_come_are_told_apart() {
    let workplace = Workplace::new();
    let program = workplace.compile(Language::C, "tests/statuses.c", library());
    workplace.write("indexed.onnx", &indexed());
    workplace.write("growing.onnx", &growing());
    let options = r#"{ "profile_seconds": 0.2, "cache_folder": "kept" }"#;
    assert_eq!(workplace.succeed(&program, &["indexed.onnx", "growing.onnx", options]), "");
    assert!(std::fs::read_dir(workplace.path("kept")).unwrap().count() > 0, "nothing is in the cache folder");
    assert!(!workplace.path("cache/millstream").exists(), "something is in the user's cache");
}

/// The status of the one thing that users can mend by putting a file somewhere.
#[test]
fn a_missing_engine_has_a_status_of_its_own() {
    let workplace = Workplace::new();
    let source = workplace.write("missing.c", MISSING.as_bytes());
    let program = workplace.compile(Language::C, source.to_str().unwrap(), library());
    workplace.write("small.onnx", &small_network());
    let mut command = workplace.command(&program, &[]);
    let output = command.env("ORT_DYLIB_PATH", workplace.path("nowhere.so")).output().unwrap();
    let told = support::told(&output);
    assert!(output.status.success() && told.contains("nowhere.so"), "{told}");
}

const MISSING: &str = r#"#include <millstream.h>
#include <stdio.h>

int main(void) {
    MsSession *session;
    MsStatus status = ms_session_open("small.onnx", "{ \"profile_seconds\": 0.2 }", &session);
    puts(ms_last_error());
    return status != MS_STATUS_LIBRARY_MISSING || session != NULL;
}
"#;
