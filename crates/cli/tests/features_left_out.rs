//! What the command says and does without one of its features. `cargo xtask test` runs these with all left out, and
//! `cargo xtask features` with each left out alone as well; with all features on there is nothing here.

#![cfg(not(all(feature = "highs", feature = "ort", feature = "wgpu")))]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use support::{Workplace, small_model};

/// Searches need no engine, and no solver.
#[test]
fn boards_that_are_not_here_are_planned_for() {
    let workplace = Workplace::new();
    let fixture = |kind: &str| format!("{}/../../fixtures/{kind}/hikey-970.json", env!("CARGO_MANIFEST_DIR"));
    let (board, costs) = (fixture("boards"), fixture("costs"));
    workplace.succeed(&["schedule", "--model", "zoo:squeezenet", "--board", &board, "--cost", &costs]);
    let simulated = workplace.succeed(&["simulate", "--model", "zoo:squeezenet", "--board", &board, "--cost", &costs]);
    assert!(simulated.contains("frames/s"), "{simulated}");
}

#[test]
#[cfg(not(feature = "highs"))]
fn without_the_solver_papers_are_not_reproduced() {
    let workplace = Workplace::new();
    assert!(workplace.fail(&["reproduce", "pipe-it"]).contains("reproduce"));
    assert!(!workplace.succeed(&["--help"]).contains("reproduce"));
}

#[test]
#[cfg(not(feature = "ort"))]
fn without_an_engine_for_cores_nothing_is_measured() {
    let workplace = Workplace::new();
    small_model(&workplace);
    let message = workplace.fail(&["profile", "--no-sweep", "--model", "small.onnx", "--budget", "100ms"]);
    assert!(message.contains("`ort`"), "{message}");
    assert_eq!(workplace.files(), ["small.onnx"]);
}

#[test]
#[cfg(feature = "ort")]
fn cores_measure_plan_and_run() {
    let workplace = Workplace::new();
    small_model(&workplace);
    workplace.succeed(&["schedule", "--model", "small.onnx"]);
    let report = workplace.succeed(&["run", "--frames", "20"]);
    assert!(report.contains("frames/s"), "{report}");
    assert!(workplace.files().contains(&"schedule.json".to_owned()));
}

#[test]
#[cfg(all(feature = "ort", not(feature = "wgpu")))]
fn without_an_engine_for_gpus_a_board_with_one_is_refused() {
    let workplace = Workplace::new();
    small_model(&workplace);
    let board = workplace.succeed(&["board", "--json"]);
    let mut board: serde_json::Value = serde_json::from_str(&board).unwrap();
    board["accelerators"] = serde_json::json!([{"label": "G", "kind": "gpu"}]);
    workplace.write("with-gpu.json", board.to_string());
    let message = workplace.fail(&["schedule", "--model", "small.onnx", "--board", "with-gpu.json"]);
    assert!(message.contains("`wgpu`"), "{message}");
}
