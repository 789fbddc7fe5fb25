//! Boards with execution providers of ONNX Runtime: from a plug-in, and what users are told of those that can't be
//! used.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use millstream_test_support::not_tested;
use serde_json::Value;
use support::{Workplace, has_openvino, small_model};

/// A board of one core with a provider, used by its cluster or by an accelerator `N`.
fn board(cluster: &str, provider: &str, accelerators: &str) -> String {
    format!(
        r#"{{"format": "millstream-board", "version": 1, "name": "desk",
            "clusters": [{{"label": "B", "capacity": 1024, "cores": [{{"id": 0}}]{cluster}}}],
            "providers": [{{"engine": "npu", {provider}}}], "accelerators": [{accelerators}]}}"#
    )
}

const ON_CORES: &str = r#", "engines": ["onnxruntime", "npu"]"#;
const DEVICE: &str = r#"{"label": "N", "kind": "npu", "engine": "npu"}"#;

/// The plug-in that set-up fetches where there is one for the machine.
fn plugin() -> Option<String> {
    let file = std::env::var("MILLSTREAM_PLUGIN").ok().filter(|file| std::path::Path::new(file).is_file());
    if file.is_none() {
        not_tested("PLUGIN", "there is no plug-in here: run through `cargo xtask test` on Linux and x86-64");
    }
    Some(format!(r#""provider": "cpu_ep", "library": "{}""#, file?))
}

/// Tests run in the folder of their crate, commands in that of the test.
fn workplace(board: &str) -> Workplace {
    let workplace = Workplace::new();
    small_model(&workplace);
    workplace.write("desk.json", board);
    workplace
}

#[test]
fn a_device_of_a_plug_in_is_planned_for_and_runs() {
    let Some(provider) = plugin() else { return };
    let workplace = workplace(&board("", &provider, DEVICE));
    let shown = workplace.succeed(&["board", "--board", "desk.json"]);
    assert!(shown.lines().any(|line| line.contains("cpu_ep: CPU of") && line.contains("| N ")), "{shown}");
    assert!(shown.contains("AzureExecutionProvider"), "what the library has is shown: {shown}");
    workplace.succeed(&["profile", "--board", "desk.json", "--no-sweep", "--model", "small.onnx", "--budget", "1s"]);
    let profile = support::text(&workplace.path("profile.json"));
    assert!(profile.contains(r#""cluster": "N""#), "its operators were measured");
    workplace.succeed(&["schedule", "--board", "desk.json", "--model", "small.onnx"]);
    // Results are compared with those of sequential inference on cores.
    workplace.succeed(&["run", "--board", "desk.json", "--frames", "8"]);
}

/// Providers for cores have names without a board file; ONNX Runtime from PyPI has none of them on this processor.
#[test]
fn a_provider_that_the_library_lacks_is_told_with_the_remedy() {
    let workplace = Workplace::new();
    let here = workplace.succeed(&["board"]);
    for (engine, provider) in [("xnnpack", "Xnnpack"), ("dnnl", "Dnnl"), ("acl", "ACL"), ("rknpu", "Rknpu")] {
        if here.contains(provider) {
            continue;
        }
        let message = workplace.fail(&["board", "--engine", engine]);
        for part in [provider, "was built without it", "ORT_DYLIB_PATH"] {
            assert!(message.contains(part), "{engine}: {message} does not say {part}");
        }
    }
    let unknown = workplace.fail(&["board", "--engine", "tpu"]);
    assert!(unknown.contains("has no engine 'tpu'"), "{unknown}");
}

#[test]
fn a_graphics_device_that_is_not_here_is_told() {
    let workplace =
        workplace(&board("", r#""provider": "cpu_ep""#, r#"{"label": "G", "kind": "gpu", "name": "Mali-X"}"#));
    let shown = workplace.succeed(&["board", "--board", "desk.json"]);
    assert!(shown.contains("there is no graphics device 'Mali-X'"), "{shown}");
    let refused = workplace.fail(&["schedule", "--board", "desk.json", "--model", "small.onnx"]);
    assert!(refused.contains("there is no graphics device 'Mali-X'") && !refused.contains('['), "{refused}");
}

#[test]
fn a_plug_in_for_cores_is_another_engine_of_the_cluster() {
    let Some(provider) = plugin() else { return };
    let workplace = workplace(&board(ON_CORES, &provider, ""));
    let shown = workplace.succeed(&["board", "--board", "desk.json"]);
    assert!(shown.lines().any(|line| line.contains("| npu ") && line.contains("| B ")), "{shown}");
    let schedule = ["schedule", "--board", "desk.json", "--engine", "npu", "--model", "small.onnx"];
    workplace.succeed(&schedule);
    let planned = support::text(&workplace.path("schedule.json"));
    assert!(planned.contains(r#""engine": "npu""#), "{planned}");
    workplace.succeed(&["run", "--board", "desk.json", "--frames", "8"]);
    let elsewhere = workplace.fail(&["run", "--frames", "8"]);
    assert!(elsewhere.contains("no engine 'npu'"), "the machine at hand has no such provider: {elsewhere}");
}

#[test]
fn providers_that_can_not_be_used_are_told_with_the_engine_and_the_remedy() {
    let cases: [(&str, &[&str]); 5] = [
        (
            r#""provider": "RknpuExecutionProvider""#,
            &["'npu (RknpuExecutionProvider)'", "built without it", "ORT_DYLIB_PATH"],
        ),
        (r#""provider": "QNNExecutionProvider""#, &["built without it; this one has AzureExecutionProvider"]),
        (r#""provider": "HailoExecutionProvider""#, &["no provider of this name is known", "`library`"]),
        (r#""provider": "cpu_ep", "library": "/nowhere/plugin.so""#, &["there is no file /nowhere/plugin.so"]),
        (r#""provider": "cpu_ep", "library": "./small.onnx""#, &["small.onnx is no library"]),
    ];
    for (provider, parts) in cases {
        for (cluster, accelerators) in [("", DEVICE), (ON_CORES, "")] {
            let workplace = workplace(&board(cluster, provider, accelerators));
            let message = workplace.fail(&["schedule", "--board", "desk.json", "--model", "small.onnx"]);
            for part in parts {
                assert!(message.contains(part), "{message} does not say {part}");
            }
            let shown = workplace.command(&["board", "--board", "desk.json"]).assert().success();
            let shown = String::from_utf8_lossy(&shown.get_output().stdout).into_owned();
            assert!(shown.lines().any(|line| line.contains("| npu") && line.contains("not here")), "{shown}");
        }
    }
}

/// As `schedule` refuses it for cores, `board` does not show it as something that these use.
#[test]
fn a_provider_that_drives_a_device_is_none_for_cores() {
    let workplace = workplace(&board(ON_CORES, r#""provider": "AzureExecutionProvider""#, ""));
    let shown = workplace.succeed(&["board", "--board", "desk.json"]);
    assert!(shown.lines().any(|line| line.contains("| npu") && line.contains("not here")), "{shown}");
    let reason = "it drives a device: name it as the `engine` of an accelerator, not of a cluster";
    assert!(support::in_one_line(&shown).contains(reason), "{shown}");
    let refused = workplace.fail(&["schedule", "--board", "desk.json", "--model", "small.onnx"]);
    assert!(support::in_one_line(&refused).contains(reason), "{refused}");
}

#[test]
fn a_device_that_takes_nothing_is_left_alone() {
    let workplace = workplace(&board("", r#""provider": "AzureExecutionProvider""#, DEVICE));
    workplace.succeed(&["schedule", "--board", "desk.json", "--model", "small.onnx"]);
    assert!(!support::text(&workplace.path("schedule.json")).contains(r#""N""#));
}

/// All operators of a schedule, of the first replica of each of its stages, as one stage on the device.
fn on_the_device(planned: &mut Value) {
    let stages = planned["stages"].as_array().unwrap();
    let assignments = stages.iter().flat_map(|stage| stage["replicas"][0]["assignments"].as_array().unwrap());
    let operators: Vec<Value> = assignments.flat_map(|own| own["operators"].as_array().unwrap()).cloned().collect();
    let processor = serde_json::json!({"cluster": "N", "cores": []});
    let assignment = serde_json::json!({"processor": processor, "operators": operators});
    planned["stages"] = serde_json::json!([{"replicas": [{"assignments": [assignment]}]}]);
}

#[test]
fn a_schedule_for_a_device_that_is_gone_is_refused() {
    let Some(provider) = plugin() else { return };
    let workplace = workplace(&board("", &provider, DEVICE));
    workplace.succeed(&["schedule", "--board", "desk.json", "--model", "small.onnx"]);
    let mut planned: Value = serde_json::from_str(&support::text(&workplace.path("schedule.json"))).unwrap();
    on_the_device(&mut planned);
    workplace.write("schedule.json", planned.to_string());
    workplace.succeed(&["run", "--board", "desk.json", "--frames", "8"]);
    workplace.write("desk.json", board("", &provider, ""));
    let message = workplace.fail(&["run", "--board", "desk.json", "--frames", "4"]);
    assert!(message.contains("no cluster or accelerator 'N'; it has B;"), "{message}");
    assert!(message.contains("if a device is gone, look at its driver, or plan without it"), "{message}");
}

#[test]
fn engines_that_nobody_has_are_told() {
    let workplace = workplace(&board("", r#""provider": "AzureExecutionProvider""#, ""));
    let schedule = ["schedule", "--board", "desk.json", "--model", "small.onnx", "--engine"];
    let message = workplace.fail(&[&schedule[..], &["tpu"]].concat());
    assert!(
        message.contains("no engine 'tpu', only onnxruntime, openvino, openvinoint8, openvinof16, openvinobf16, npu"),
        "{message}"
    );
    let message = workplace.fail(&["schedule", "--model", "small.onnx", "--engine", "npu"]);
    assert!(
        message.contains("no engine 'npu', only onnxruntime, openvino, openvinoint8, openvinof16, openvinobf16; a provider of ONNX Runtime becomes one"),
        "{message}"
    );
}

/// `all` is what is installed of the engines that every board may have; who names one is refused without it.
#[test]
fn all_engines_are_those_that_are_there() {
    let workplace = Workplace::new();
    let without = |arguments: &[&str]| {
        let mut command = workplace.command(arguments);
        // What is there but can't be loaded keeps the system's folders from being searched.
        let hidden = workplace.path("hidden/libopenvino_c.so");
        std::fs::create_dir_all(hidden.parent().unwrap()).unwrap();
        std::fs::write(&hidden, "no library").unwrap();
        command.env("OPENVINO_INSTALL_DIR", workplace.path("hidden")).env_remove("LD_LIBRARY_PATH");
        let output = command.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).split_whitespace().collect::<Vec<_>>().join(" ");
        (output.status.success(), text(&output.stdout), text(&output.stderr))
    };
    let (planned, board, said) = without(&["board", "--json", "--engine", "all"]);
    assert!(planned && !board.contains("openvino"), "{board} {said}");
    assert!(said.contains("'all' goes on without openvino: the backend 'openvino' is not available"), "{said}");
    for named in ["openvino", "onnxruntime,openvino", "all,openvino"] {
        let (planned, _, said) = without(&["board", "--json", "--engine", named]);
        assert!(!planned && said.contains("'openvino' is not available"), "{named}: {said}");
    }

    // Another board has the engines that are asked for, wherever it is planned for.
    let (planned, board, said) = without(&["board", "--json", "--board", "khadas-vim3", "--engine", "all"]);
    assert!(planned && board.contains(r#""openvino""#) && said.is_empty(), "{board} {said}");
    if has_openvino() {
        let board = workplace.succeed(&["board", "--json", "--engine", "all"]);
        assert!(board.contains(r#""openvino""#), "{board}");
    }
}

/// Has the processors of a schedule compute with ONNX Runtime.
fn with_the_usual_engine(planned: &mut Value) {
    for stage in planned["stages"].as_array_mut().unwrap() {
        for replica in stage["replicas"].as_array_mut().unwrap() {
            for assignment in replica["assignments"].as_array_mut().unwrap() {
                assignment["processor"].as_object_mut().unwrap().remove("engine");
            }
        }
    }
}

/// A schedule that was planned with several engines to choose from needs those that it uses.
#[test]
fn engines_that_a_schedule_does_not_use_may_be_missing() {
    if !has_openvino() {
        return;
    }
    let workplace = Workplace::new();
    small_model(&workplace);
    workplace.succeed(&["schedule", "--model", "small.onnx", "--engine", "onnxruntime,openvino"]);
    let mut planned: Value = serde_json::from_str(&support::text(&workplace.path("schedule.json"))).unwrap();
    let run = |planned: &Value| {
        workplace.write("schedule.json", planned.to_string());
        let mut command = workplace.command(&["run", "--frames", "4"]);
        command.env("OPENVINO_INSTALL_DIR", workplace.path("nowhere")).env_remove("LD_LIBRARY_PATH");
        command.assert()
    };
    with_the_usual_engine(&mut planned);
    run(&planned).success();

    planned["stages"][0]["replicas"][0]["assignments"][0]["processor"]["engine"] = "openvino".into();
    let refused = run(&planned).failure();
    let message = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
    assert!(message.contains("'openvino' is not available"), "{message}");
}
