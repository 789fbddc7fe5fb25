//! Whatever a caller in C may get wrong is told, and ends nothing.

#![cfg(all(unix, feature = "ort"))]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use support::{Language, Workplace, library, small_network};

#[test]
fn nulls_wrong_shapes_wrong_types_and_missing_files_are_told() {
    let workplace = Workplace::new();
    let program = workplace.compile(Language::C, "tests/bad_input.c", library());
    workplace.write("small.onnx", &small_network());
    let told = workplace.succeed(&program, &["small.onnx", r#"{ "profile_seconds": 0.2 }"#]);
    assert_eq!(told, "");
}
