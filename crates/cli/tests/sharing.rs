//! Several processors on one frame, through the command: schedules with shared operators, and boards with accelerators.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use millstream_test_support::not_tested;
use serde_json::{Value, json};
use support::{Workplace, small_model, text};

/// A schedule of one stage in which two cores share the first convolution and its activation; `None` on a machine with
/// one core.
fn shared(workplace: &Workplace, channels: [usize; 2]) -> Option<()> {
    small_model(workplace);
    workplace.succeed(&["profile", "--model", "small.onnx", "--budget", "500ms", "--no-sweep", "-o", "p.json"]);
    workplace.succeed(&["schedule", "--model", "small.onnx", "--profile", "p.json"]);
    let board: Value = serde_json::from_str(&workplace.succeed(&["board", "--json"])).unwrap();
    let cluster = &board["clusters"][0];
    let cores = cluster["cores"].as_array().unwrap();
    let (first, second) = (cores.first()?["id"].clone(), cores.get(1)?["id"].clone());
    let mut document: Value = serde_json::from_str(&text(&workplace.path("schedule.json"))).unwrap();
    let replica = &document["stages"][0]["replicas"][0];
    let all: Vec<Value> = match document["stages"].as_array().unwrap().as_slice() {
        [_] => replica["assignments"][0]["operators"].as_array().unwrap().clone(),
        stages => stages
            .iter()
            .flat_map(|stage| stage["replicas"][0]["assignments"][0]["operators"].as_array().unwrap().clone())
            .collect(),
    };
    let processor = |core: &Value| json!({"cluster": cluster["label"], "cores": [core]});
    document["stages"] = json!([{"replicas": [{
        "assignments": [
            {"processor": processor(&first), "operators": all},
            {"processor": processor(&second), "operators": &all[..2]},
        ],
        "splits": [{"operators": &all[..2], "channels": channels}],
    }]}]);
    document["predicted"]["replica_seconds"] = json!([[0.001]]);
    workplace.write("shared.json", document.to_string());
    Some(())
}

#[test]
fn a_schedule_with_a_shared_operator_runs_and_is_traced() {
    let workplace = Workplace::new();
    let Some(()) = shared(&workplace, [3, 5]) else { return not_tested("CORES", "there is only one core") };
    let ran = workplace.succeed(&["run", "--schedule", "shared.json", "--frames", "20", "--trace", "trace.json"]);
    assert!(ran.contains("+") && ran.contains("20 frames checked against sequential inference"), "{ran}");
    let trace = text(&workplace.path("trace.json"));
    assert!(trace.contains("channels 0..3") && trace.contains("channels 3..8"), "{trace}");
    let simulated = workplace.succeed(&["simulate", "--schedule", "shared.json", "--frames", "5"]);
    assert!(simulated.contains("frames"), "{simulated}");
}

#[test]
fn divisions_that_can_not_be_are_refused() {
    for (channels, expected) in [([8, 0], "fewer than two processors"), ([8, 1], "add up to its 8 output channels")] {
        let workplace = Workplace::new();
        let Some(()) = shared(&workplace, channels) else { return not_tested("CORES", "there is only one core") };
        let message = workplace.fail(&["run", "--schedule", "shared.json"]);
        assert!(message.contains("shared.json") && message.contains(expected), "{message}");
    }
}

#[test]
fn boards_with_accelerators() {
    let workplace = Workplace::new();
    small_model(&workplace);
    let mut board: Value = serde_json::from_str(&workplace.succeed(&["board", "--json"])).unwrap();
    board["accelerators"] = json!([{"label": "N", "kind": "npu", "name": "an NPU"}]);
    workplace.write("npu.json", board.to_string());
    assert!(workplace.succeed(&["board", "--board", "npu.json"]).contains("NPU: an NPU"));
    let message = workplace.fail(&["schedule", "--board", "npu.json", "--model", "small.onnx"]);
    assert!(message.contains("nothing here runs operators on N (NPU)"), "{message}");
    board["accelerators"] = json!([{"label": "G", "kind": "gpu", "name": "no such device"}]);
    workplace.write("gpu.json", board.to_string());
    let message = workplace.fail(&["schedule", "--board", "gpu.json", "--model", "small.onnx"]);
    assert!(message.contains("no such device") && message.contains("mesa-vulkan-drivers"), "{message}");
    board["accelerators"] = json!([{"label": "B", "kind": "gpu"}]);
    workplace.write("twice.json", board.to_string());
    assert!(workplace.fail(&["board", "--board", "twice.json"]).contains("accelerators[0].label"));
    board["accelerators"] = json!([]);
    board["links"] = json!([{"from": "B", "to": "Q", "bytes_per_second": 1e9, "latency_seconds": 0.0}]);
    workplace.write("link.json", board.to_string());
    assert!(workplace.fail(&["board", "--board", "link.json"]).contains("links[0].to: is 'Q'"));
    assert!(!workplace.files().contains(&"schedule.json".to_owned()), "nothing is left behind");
}

/// On the software GPU, where there is one: profile, schedule and run without special flags but the board.
#[test]
fn a_board_with_a_software_gpu_needs_no_flags() {
    let workplace = Workplace::new();
    small_model(&workplace);
    let board = workplace.succeed(&["board", "--software-gpu", "--json"]);
    if !board.contains("gpu") {
        return not_tested("GPU", "there is no software GPU, as of mesa-vulkan-drivers");
    }
    workplace.write("board.json", &board);
    let profile =
        ["profile", "--model", "small.onnx", "--budget", "1s", "--no-sweep", "-o", "p.json", "--board", "board.json"];
    workplace.succeed(&profile);
    let profile = text(&workplace.path("p.json"));
    assert!(profile.contains("granularity") && profile.contains("\"from\": \"G\""));
    let shown =
        workplace.succeed(&["schedule", "--board", "board.json", "--model", "small.onnx", "--profile", "p.json"]);
    assert!(shown.contains("Chosen for throughput"), "{shown}");

    // Whatever was chosen, this runs the first operator on the device.
    let mut document: Value = serde_json::from_str(&text(&workplace.path("schedule.json"))).unwrap();
    let stages = document["stages"].as_array().unwrap();
    let all: Vec<Value> = stages
        .iter()
        .flat_map(|stage| stage["replicas"][0]["assignments"].as_array().unwrap().clone())
        .flat_map(|assignment| assignment["operators"].as_array().unwrap().clone())
        .collect();
    if document["stages"][0]["replicas"][0].get("splits").is_none() {
        let stage = |processor: Value, operators: &[Value]| json!({"replicas": [{"assignments": [{"processor": processor, "operators": operators}]}]});
        let (device, core) = (json!({"cluster": "G", "cores": []}), json!({"cluster": "B", "cores": [0]}));
        let order: Vec<Value> = all;
        document["stages"] = json!([stage(device, &order[..2]), stage(core, &order[2..])]);
        document["predicted"]["replica_seconds"] = json!([[0.001], [0.001]]);
        workplace.write("device.json", document.to_string());
        let ran = workplace.succeed(&["run", "--board", "board.json", "--schedule", "device.json", "--frames", "10"]);
        assert!(ran.contains("| G1 ") && ran.contains("10 frames checked"), "{ran}");
    }
}
