//! The user's path on a small model: profile, schedule, run.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use serde_json::Value;
use support::{Workplace, has_openvino, small_model, text, wait_until};

fn json(output: &str) -> Value {
    serde_json::from_str(output).unwrap()
}

#[test]
fn schedule_without_a_profile_then_run() {
    let workplace = Workplace::new();
    small_model(&workplace);
    let shown = workplace.succeed(&["schedule", "--model", "small.onnx"]);
    assert!(
        shown.contains("Chosen for throughput") && shown.contains("expected ms") && shown.contains("Expected:"),
        "{shown}"
    );
    let ran = workplace.succeed(&["run", "--frames", "30", "--trace", "trace.json"]);
    assert!(ran.contains("30 frames through") && ran.contains("frames/s measured"), "{ran}");
    assert!(ran.contains("30 frames checked against sequential inference"), "{ran}");
    let trace = json(&text(&workplace.path("trace.json")));
    let events = || trace.as_array().unwrap().iter();
    let spans = events().filter(|event| event["ph"] == "X").count();
    assert!(spans >= 30, "{spans} spans");
    let cores = events().filter_map(|event| event["args"]["name"].as_str()).filter(|name| name.starts_with("core "));
    assert!(cores.count() >= 1, "a track for each core that is used");
    for argument in ["frame", "stage", "processor", "waited_ms"] {
        assert!(events().any(|event| !event["args"][argument].is_null()), "{argument}");
    }
    assert_eq!(workplace.files(), ["schedule.json", "small.onnx", "trace.json"]);

    // The second time, the profile is there already.
    let again = workplace.command(&["schedule", "--model", "small.onnx", "--objective", "latency"]).assert().success();
    let told = String::from_utf8_lossy(&again.get_output().stderr);
    // Where others disturbed the first measurement, it is found and made anew.
    assert!(told.contains("using the profile of") || told.contains("measuring anew: the profile of"), "{told}");
}

#[test]
fn profile_to_schedule_to_run_through_files() {
    let workplace = Workplace::new();
    small_model(&workplace);
    let board = workplace.succeed(&["board", "--json"]);
    workplace.write("board.json", &board);
    let profile = ["profile", "--model", "small.onnx", "--budget", "500ms", "-o", "p.json", "--board", "board.json"];
    workplace.succeed(&profile);

    for objective in ["throughput", "latency", "balanced"] {
        let arguments = [
            "schedule",
            "--model",
            "small.onnx",
            "--profile",
            "p.json",
            "--objective",
            objective,
            "--json",
            "-o",
            "s.json",
        ];
        let report = json(&workplace.succeed(&arguments));
        assert_eq!(report["schedule"]["objective"], objective);
        assert!(!report["front"].as_array().unwrap().is_empty());
        assert_eq!(report["schedule"], json(&text(&workplace.path("s.json"))));
        let report = json(&workplace.succeed(&["run", "--schedule", "s.json", "--frames", "20", "--json"]));
        assert_eq!((&report["format"], &report["version"]), (&"millstream-run-report".into(), &1.into()));
        let measured = &report["networks"][0];
        assert_eq!(measured["frames"], 20);
        assert!(measured["largest_difference"].as_f64().unwrap() <= 1e-4, "{measured}");
        assert!(measured["measured_period_seconds"].as_f64().unwrap() > 0.0);
        assert_eq!(measured["checked_frames"], 20);
    }

    // The file is of this computer, which is not only simulated; where the system tells nothing of its cores, it may be of
    // any.
    let is_told = ["core_type", "caches"].iter().any(|known| board.contains(known));
    let verb = if is_told { "run" } else { "simulate" };
    let schedule = ["schedule", "--model", "small.onnx", "--profile", "p.json", "--board", "board.json"];
    let said = workplace.command(&schedule).assert().success();
    let next = format!("xtask {verb} --schedule schedule.json --board board.json");
    let said = String::from_utf8_lossy(&said.get_output().stderr).into_owned();
    assert!(said.contains(&next), "{said}");
}

/// What a profile says of engines that were not measured further stands in the JSON, on the page, and on standard error.
#[test]
fn engines_that_were_left_out_are_told() {
    if !has_openvino() {
        return;
    }
    let workplace = Workplace::new();
    small_model(&workplace);
    workplace.succeed(&["profile", "--model", "small.onnx", "--engine", "all", "--budget", "300ms", "-o", "p.json"]);
    let mut profile = json(&text(&workplace.path("p.json")));
    let left_out = serde_json::json!([{ "cluster": "B", "engine": "openvino", "gain": 0.0125 }]);
    profile["networks"][0]["left_out"] = left_out.clone();
    workplace.write("p.json", profile.to_string());
    let schedule = ["schedule", "--model", "small.onnx", "--profile", "p.json", "-o", "s.json"];
    let report = json(&workplace.succeed(&[&schedule[..], &["--json", "--html", "s.html"]].concat()));
    assert_eq!(report["left_out_engines"], left_out);
    let told = "openvino is left out on B: it could save 1.2 % of the time at most";
    assert!(text(&workplace.path("s.html")).contains(told), "the page says it");
    let output = workplace.command(&schedule).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains(told), "{output:?}");
}

#[test]
fn a_schedule_is_simulated_from_the_profile() {
    let workplace = Workplace::new();
    small_model(&workplace);
    let message = workplace.fail(&["simulate"]);
    assert!(
        message.contains("cannot read schedule.json") && message.contains("with `cargo xtask schedule`"),
        "{message}"
    );
    workplace.succeed(&["profile", "--no-sweep", "--model", "small.onnx", "--budget", "200ms"]);
    workplace.succeed(&["schedule", "--model", "small.onnx", "--profile", "profile.json"]);
    let simulate = ["simulate", "--profile", "profile.json", "--frames", "400", "--trace", "trace.json", "--json"];
    let report = json(&workplace.succeed(&simulate));
    let [predicted, simulated] =
        ["predicted_period_seconds", "simulated_period_seconds"].map(|name| report[name].as_f64().unwrap());
    // Replicas end frames in turns, so that a window of frames is not a whole number of turns.
    assert!((simulated / predicted - 1.0).abs() < 0.05, "{report}");
    let trace = json(&text(&workplace.path("trace.json")));
    assert!(trace["traceEvents"].as_array().unwrap().len() >= 50);
    let shown = workplace.succeed(&["simulate", "--profile", "profile.json", "--noise", "20", "--seed", "7"]);
    assert!(shown.contains("frames/s simulated"), "{shown}");
    assert!(workplace.fail(&["simulate", "--noise", "many"]).contains("not a percentage"));
}

#[test]
fn compare_shows_every_contender() {
    let workplace = Workplace::new();
    small_model(&workplace);
    let arguments = [
        "compare",
        "--model",
        "small.onnx",
        "--rounds",
        "2",
        "--turn",
        "200ms",
        "--budget",
        "500ms",
        "--slow-core",
        "0:3",
        "--json",
    ];
    let report = json(&workplace.succeed(&arguments));
    let slow_core = report["slow_cores"][0].as_str().unwrap();
    let methods = ["real-time pulses", "busy loops"].map(|method| format!("core 0 3 times slower by {method}"));
    assert!(methods.contains(&slow_core.to_owned()), "{slow_core}");
    for contender in report["networks"][0]["contenders"].as_array().unwrap() {
        let number = |field: &str| contender[field].as_f64().unwrap();
        let rates = ["frames_per_second_p25", "frames_per_second", "frames_per_second_p75"].map(number);
        assert!(rates.is_sorted() && rates[0] > 0.0, "{rates:?}");
        assert_eq!(contender["rounds"].as_array().unwrap().len(), 2);
        assert!(number("disturbed_rounds") <= 2.0, "of two");
    }
    let names: Vec<&str> = report["networks"][0]["contenders"]
        .as_array()
        .unwrap()
        .iter()
        .map(|contender| contender["name"].as_str().unwrap())
        .collect();
    assert!(names[0].starts_with("millstream for throughput"), "{names:?}");
    let rivals = [
        "ONNX Runtime, default",
        "ONNX Runtime, all cores",
        "ONNX Runtime, fastest cluster",
        "ONNX Runtime, an instance per core",
    ];
    let first = names.iter().position(|name| *name == rivals[0]).unwrap();
    assert_eq!(names[first..first + 4], rivals);

    // Where its library could be fetched.
    let more =
        ["OpenVINO, LATENCY", "OpenVINO, THROUGHPUT", "OpenVINO, fastest cluster", "OpenVINO, an instance per core"];
    let expected = if has_openvino() { &more[..] } else { &[] };
    assert_eq!(names[first + 4..], *expected, "{names:?}");
}

#[test]
fn compare_puts_several_networks_together() {
    let workplace = Workplace::new();
    small_model(&workplace);
    let models = ["--model", "small.onnx", "--model", "small.onnx"];
    let rest = ["--rounds", "1", "--turn", "200ms", "--budget", "200ms", "--html", "page.html"];
    let shown = workplace.succeed(&[&["compare"], &models[..], &rest[..]].concat());
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    let (_, summary) = shown.split_once("Our schedule for throughput, network by network").unwrap();
    let (throughput, rest) = summary.split_once("Our schedule for latency:").unwrap();
    let (latency, predictions) = rest.split_once("What these schedules are").unwrap();
    for table in [throughput, latency] {
        assert_eq!(table.lines().filter(|line| line.starts_with("| small")).count(), 2, "{table}");
        assert!(table.contains("Together:") && table.contains("(geometric mean)"), "{table}");
    }
    assert!(predictions.contains("missed by "), "{predictions}");
    let page = text(&workplace.path("page.html"));
    assert_eq!(page.matches("<h2").count(), 3, "all together, and each: {page}");
    assert!(page.contains("Frames per second") && page.contains("<svg class=\"network\""), "{page}");
}

#[test]
fn plain_sessions_are_measured_fastest_first() {
    let workplace = Workplace::new();
    small_model(&workplace);
    let report = json(&workplace.succeed(&[
        "session-options",
        "--model",
        "small.onnx",
        "--rounds",
        "1",
        "--turn",
        "200ms",
        "--json",
    ]));
    let sessions = report["sessions"].as_array().unwrap();
    assert_eq!(report["options"], sessions[0]["options"]);
    let times: Vec<f64> = sessions.iter().map(|session| session["frame_seconds"].as_f64().unwrap()).collect();
    assert!(times.is_sorted() && times[0] > 0.0, "{times:?}");
    assert_eq!(sessions.iter().filter(|session| session["is_default"] == true).count(), 1);
    let shown = workplace.succeed(&["session-options", "--model", "small.onnx", "--rounds", "1", "--turn", "200ms"]);
    assert!(shown.contains("options = onnxruntime.SessionOptions()"), "{shown}");
    assert!(workplace.fail(&["session-options", "--slow-core", "900:3"]).contains("does not exist"));
    assert!(workplace.fail(&["session-options", "--turn", "99ms"]).contains("too short for a turn: 100ms or more"));
}

#[test]
fn a_run_says_what_it_misses_of_what_it_was_planned_for() {
    let workplace = Workplace::new();
    small_model(&workplace);
    let limits = ["--max-latency", "10s", "--min-throughput", "0.1", "--margin", "10%"];
    workplace.succeed(&[&["schedule", "--model", "small.onnx"], &limits[..]].concat());
    let mut document = json(&text(&workplace.path("schedule.json")));
    let stated = serde_json::json!({"max_latency_seconds": 10.0, "min_throughput_hertz": 0.1, "margin": 0.1});
    assert_eq!(document["constraints"], stated);
    let shown = workplace.succeed(&["run", "--frames", "10"]);
    assert!(!shown.contains("Missed:"), "{shown}");

    document["constraints"]["max_latency_seconds"] = serde_json::json!(1e-9);
    document["constraints"]["min_throughput_hertz"] = serde_json::json!(1e9);
    workplace.write("strict.json", document.to_string());
    let shown = workplace.succeed(&["run", "--schedule", "strict.json", "--frames", "10"]);
    assert!(shown.contains("Missed:     latency ") && shown.contains("Missed:     throughput "), "{shown}");
    let report = json(&workplace.succeed(&["run", "--schedule", "strict.json", "--frames", "10", "--json"]));
    let missed = report["networks"][0]["missed_constraints"].as_array().unwrap();
    assert_eq!(missed.iter().map(|own| &own["what"]).collect::<Vec<_>>(), ["latency", "throughput"]);
    // The rate of a camera says nothing of what the pipeline could do.
    let camera = ["run", "--schedule", "strict.json", "--frames", "10", "--frame-rate", "200"];
    let shown = workplace.succeed(&camera);
    assert!(shown.contains("Missed:     latency ") && !shown.contains("Missed:     throughput "), "{shown}");

    document["constraints"]["max_watts"] = serde_json::json!(-2.0);
    workplace.write("wrong.json", document.to_string());
    let message = workplace.fail(&["run", "--schedule", "wrong.json"]);
    assert!(message.contains("wrong.json: constraints.max_watts: is -2"), "{message}");
    let message = workplace.fail(&["schedule", "--model", "small.onnx", "--margin", "10%"]);
    assert!(message.contains("a margin is one to a limit"), "{message}");
    for of_several in [["--deadline", "small=1ms"], ["--weight", "small=2"]] {
        let message =
            workplace.fail(&[&["schedule", "--model", "small.onnx", "--margin", "10%"], &of_several[..]].concat());
        assert!(message.contains("are of one among several networks"), "{message}");
    }
}

#[test]
fn two_networks_run_at_once() {
    let workplace = Workplace::new();
    small_model(&workplace);
    workplace.succeed(&["profile", "--no-sweep", "--model", "small.onnx", "--budget", "200ms"]);
    let both = ["schedule", "--model", "small.onnx", "--model", "small.onnx", "--profile", "profile.json"];
    // In turn on all processors, or each on its own.
    for more in [&[][..], &["--deadline", "small.onnx=10s"]] {
        workplace.succeed(&[&both[..], more].concat());
        let set = json(&text(&workplace.path("schedule.json")));
        assert_eq!(set["networks"].as_array().unwrap().len(), 2);
        let report = json(&workplace.succeed(&["run", "--frames", "25", "--json"]));
        assert_eq!(report["networks"].as_array().unwrap().len(), 2);
        for report in report["networks"].as_array().unwrap() {
            assert!(report["frames"].as_u64().unwrap() >= 25, "{report}");
            assert!(report["largest_difference"].as_f64().unwrap() <= 1e-4, "{report}");
        }
    }

    // Each network is held to its own deadline, whatever the command says for those without one.
    let mut hurried = json(&text(&workplace.path("schedule.json")));
    hurried["networks"][0]["deadline_seconds"] = serde_json::json!(1e-9);
    hurried["networks"][1]["deadline_seconds"] = serde_json::Value::Null;
    workplace.write("hurried.json", hurried.to_string());
    let run = ["run", "--schedule", "hurried.json", "--frames", "10", "--json", "--deadline", "10s"];
    let report = json(&workplace.succeed(&run));
    let [late, early] = [0, 1].map(|index| &report["networks"][index]);
    assert_eq!((&late["missed_deadlines"], &late["deadline_seconds"]), (&late["frames"], &serde_json::json!(1e-9)));
    assert_eq!((&early["missed_deadlines"], &early["deadline_seconds"]), (&0.into(), &serde_json::json!(10.0)));
    let shown = workplace.succeed(&["run", "--frames", "10"]);
    assert!(shown.contains("Rounds:") && shown.contains("checked against sequential inference"), "{shown}");

    // Two networks that claim the same core.
    let set = text(&workplace.path("schedule.json"));
    let core =
        json(&set)["networks"][0]["schedule"]["stages"][0]["replicas"][0]["assignments"][0]["processor"]["cores"][0]
            .clone();
    let mut stolen = json(&set);
    // Networks that take turns may have the same cores.
    stolen["takes_turns"] = false.into();
    stolen["networks"][1]["schedule"]["stages"][0]["replicas"][0]["assignments"][0]["processor"]["cores"][0] = core;
    workplace.write("stolen.json", stolen.to_string());
    let run = ["run", "--schedule", "stolen.json"];
    assert!(workplace.fail(&run).contains("which another network of the file uses as well"));
    assert!(workplace.fail(&[&run[..], &["--model", "small.onnx"]].concat()).contains("leave the model out"));
}

#[test]
fn the_published_schemas_are_up_to_date() {
    let workplace = Workplace::new();
    workplace.succeed(&["schemas", "schemas"]);
    let published = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/schemas");
    let names = std::fs::read_dir(workplace.path("schemas")).unwrap().map(|entry| entry.unwrap().file_name());
    let names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
    assert!(names.len() >= 8, "{names:?}");
    for file in names {
        let current = text(&workplace.path("schemas").join(&file));
        assert_eq!(text(&published.join(&file)), current, "run `cargo xtask snapshots`");
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_finishes_the_frames_in_flight() {
    use std::process::{Command, Stdio};

    let workplace = Workplace::new();
    small_model(&workplace);
    workplace.succeed(&["profile", "--model", "small.onnx", "--budget", "200ms"]);
    workplace.succeed(&["schedule", "--model", "small.onnx", "--profile", "profile.json"]);
    let mut child = Command::new(assert_cmd::cargo::cargo_bin("millstream"))
        .args(["run", "--frames", "1000000000", "--json", "--csv", "frames.csv"])
        .current_dir(workplace.path(""))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // The first line has the names of columns.
    let has_frames = || {
        std::fs::read(workplace.path("frames.csv")).is_ok_and(|table| table.split(|&byte| byte == b'\n').count() > 2)
    };
    wait_until(&mut child, "there are frames", |_| has_frames());
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let report = json(&String::from_utf8(output.stdout).unwrap());
    let report = &report["networks"][0];
    let frames = report["frames"].as_u64().unwrap();
    assert!((1..1_000_000_000).contains(&frames), "{frames}");
    assert_eq!(report["checked_frames"].as_u64(), Some(frames));
}

/// What a command says to do next does it, whatever is in paths.
#[test]
fn commands_that_are_named_can_be_pasted() {
    let workplace = Workplace::new();
    let fixture = |name: &str| std::fs::read(format!("{}/../../fixtures/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    workplace.write("my board's.json", fixture("boards/khadas-vim3.json"));
    workplace.write("costs.json", fixture("costs/khadas-vim3.json"));
    let known = ["--board", "my board's.json", "--cost", "costs.json", "--model", "zoo:tiny-darknet"];
    let files = ["-o", "a plan.json", "--certificate", "proof.json"];
    let output = workplace.command(&[&["schedule"][..], &known, &files].concat()).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    let commands: Vec<&str> = said.lines().filter_map(|line| Some(line.split_once("cargo xtask ")?.1)).collect();
    assert_eq!(commands.len(), 2, "{said}");
    for (command, result) in commands.into_iter().zip(["The certificate holds", "frames/s simulated"]) {
        let program = assert_cmd::cargo::cargo_bin("millstream");
        let line = format!("'{}' {command}", program.display());
        let folder = workplace.path("");
        let output = std::process::Command::new("sh").args(["-c", &line]).current_dir(folder).output().unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && printed.contains(result), "{command}: {printed}");
    }
}
