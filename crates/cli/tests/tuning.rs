//! Searching for schedules by running them, and adapting one that runs.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use serde_json::Value;
use support::{Workplace, small_model, text};

fn json(output: &str) -> Value {
    serde_json::from_str(output).unwrap()
}

#[test]
fn tuning_writes_the_best_schedule_that_it_ran() {
    let workplace = Workplace::new();
    small_model(&workplace);
    let report = json(&workplace.succeed(&["tune", "--model", "small.onnx", "--trials", "3", "--json"]));
    let trials = report["trials"].as_array().unwrap();
    assert!((1..=3).contains(&trials.len()), "{report}");
    let period = |trial: &Value| trial["period_seconds"].as_f64().unwrap();
    let shortest = trials.iter().map(period).fold(f64::INFINITY, f64::min);
    assert_eq!(period(&report), shortest);
    let written = json(&text(&workplace.path("schedule.json")));
    assert_eq!((&written["algorithm"], &written["configuration"]), (&Value::from("model-guided"), &report["best"]));
    assert_eq!(written["predicted"]["period_seconds"].as_f64(), Some(shortest));
    assert_eq!(written["predicted"]["is_measured"], true);
    // What was found is where the next search may start.
    let again = ["tune", "--schedule", "schedule.json", "--trials", "1", "-o", "again.json"];
    let shown = workplace.succeed(&again);
    assert!(
        shown.contains("small: 1 trial by model-guided") && shown.contains("By the costs that it began with"),
        "{shown}"
    );
    let ran = workplace.succeed(&["run", "--schedule", "again.json", "--frames", "20"]);
    assert!(ran.contains("20 frames checked against sequential inference"), "{ran}");
}

#[test]
fn the_published_searches_run_on_places() {
    let workplace = Workplace::new();
    small_model(&workplace);
    let label = {
        let board = json(&workplace.succeed(&["board", "--json"]));
        board["clusters"][0]["label"].as_str().unwrap().to_owned()
    };
    let place = format!("{label}1");
    for algorithm in ["shisha", "pipe-search", "random-walk", "hill-climbing", "simulated-annealing"] {
        let arguments =
            ["tune", "--model", "small.onnx", "--algorithm", algorithm, "--places", &place, "--trials", "2", "--json"];
        let report = json(&workplace.succeed(&arguments));
        assert_eq!(report["algorithm"], algorithm);
        assert_eq!(report["best"], place, "one place has one stage");
    }
    let few = ["tune", "--model", "small.onnx", "--algorithm", "exhaustive", "--places", &place, "--trials", "1"];
    assert!(workplace.succeed(&few).contains("1 trial by exhaustive"));
}

#[test]
fn tuning_can_be_simulated() {
    let workplace = Workplace::new();
    small_model(&workplace);
    workplace.succeed(&["profile", "--no-sweep", "--model", "small.onnx", "--budget", "200ms"]);
    let simulate = |more: &[&str]| {
        let common = ["tune", "--simulate", "--model", "small.onnx", "--profile", "profile.json", "--json"];
        json(&workplace.succeed(&[&common, more].concat()))
    };
    let random = ["--algorithm", "random-walk", "--trials", "4", "--noise", "5", "--seed", "3"];
    let report = simulate(&random);
    assert_eq!(report["trials"].as_array().unwrap().len(), 4);
    assert_eq!(report, simulate(&random), "the same seed, the same search");

    // Without noise and surprises, our search is right at once.
    let exact = simulate(&[]);
    let seconds = |field: &str| exact[field].as_f64().unwrap();
    let written = json(&text(&workplace.path("schedule.json")));
    assert_eq!(written["predicted"]["period_seconds"], exact["period_seconds"]);
    assert_eq!(written["predicted"].get("is_measured"), None, "nothing was measured: {written}");
    assert_eq!(exact["trials"].as_array().unwrap().len(), 1);
    assert!(
        (seconds("period_seconds") / seconds("shortest_predicted_on_single_processors_seconds") - 1.0).abs() < 0.05,
        "{exact}"
    );
    let core = json(&workplace.succeed(&["board", "--json"]))["clusters"][0]["cores"][0]["id"].to_string();
    let slowed = simulate(&["--slow-core", &format!("{core}:4")]);
    assert!(slowed["period_seconds"].as_f64().unwrap() > 1.1 * seconds("period_seconds"), "{slowed}");
    let shown = workplace.succeed(&["tune", "--simulate", "--model", "small.onnx", "--profile", "profile.json"]);
    assert!(shown.contains("simulated trial by") && shown.contains("frames/s in simulation"), "{shown}");
    let message = workplace.fail(&["tune", "--model", "small.onnx", "--noise", "5"]);
    assert!(message.contains("--simulate"), "{message}");
}

#[test]
fn an_adaptive_run_checks_every_frame() {
    let workplace = Workplace::new();
    small_model(&workplace);
    workplace.succeed(&["schedule", "--model", "small.onnx"]);
    let report = json(&workplace.succeed(&["run", "--adaptive", "--duration", "3s", "--json"]));
    let report = &report["networks"][0];
    let frames = report["frames"].as_u64().unwrap();
    assert!(frames > 100, "{frames}");
    assert_eq!(report["checked_frames"].as_u64(), Some(frames));
    assert!(report["adaptations"].is_array());
    // Whatever was adapted, the stages shown are those at work at the end.
    let shown = report["stages"].as_array().unwrap();
    assert!(shown.iter().all(|stage| stage["predicted_seconds"].as_f64().unwrap() > 0.0), "{report}");
}

#[test]
fn what_can_not_be_tuned_says_why() {
    let workplace = Workplace::new();
    small_model(&workplace);
    let said = |arguments: &[&str], expected: &str| {
        let message = workplace.fail(arguments);
        assert!(message.contains(expected), "{message}");
    };
    said(&["tune", "--trials", "0"], "--trials");
    said(&["tune", "--heuristic", "H9"], "H1, H2, H3");
    said(&["tune", "--schedule", "none.json"], "cannot read none.json");
    said(&["tune", "--model", "small.onnx", "-o", "no/such/folder.json"], "no/such");
    workplace.succeed(&["schedule", "--model", "small.onnx"]);
    said(&["tune", "--model", "small.onnx", "--places", "X9"], "the board has no cluster 'X'");
    said(&["run", "--adaptive", "--trace", "t.json"], "--trace");
    said(&["run", "--frames", "3", "--duration", "3s"], "--duration");
    std::fs::remove_dir_all(workplace.path("cache")).unwrap();
    said(&["run", "--adaptive"], "cargo xtask schedule --model small.onnx");
    assert_eq!(workplace.files(), ["schedule.json", "small.onnx"]);
}
