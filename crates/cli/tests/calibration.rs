//! Boards that are not here, through the program: their costs, schedules, energy, and simulations.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use support::{Workplace, in_one_line, small_model};

fn fixture(folder: &str, name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../fixtures/{folder}/{name}.json"))
}

/// Flags that name a board that is not here and its costs.
fn board(name: &str) -> [String; 4] {
    let path = |folder: &str| fixture(folder, name).display().to_string();
    ["--board".to_owned(), path("boards"), "--cost".to_owned(), path("costs")]
}

fn with_board<'a>(command: &'a [&'a str], board: &'a [String; 4]) -> Vec<&'a str> {
    command.iter().copied().chain(board.iter().map(String::as_str)).collect()
}

fn read(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Numbers may differ in their last digits between machines.
fn is_close(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            let (one, other) = (one.as_f64().unwrap(), other.as_f64().unwrap());
            (one - other).abs() <= 1e-6 * one.abs().max(other.abs())
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_close(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .all(|(key, own)| key == "provenance" || other.get(key).is_some_and(|other| is_close(own, other)))
        }
        _ => one == other,
    }
}

#[test]
fn every_boards_costs_are_what_calibration_makes_of_the_measurements() {
    let workplace = Workplace::new();
    let mut count = 0;
    for entry in std::fs::read_dir(fixture("boards", "x").parent().unwrap()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|own| own != "json") {
            continue;
        }
        let name = path.file_stem().unwrap().to_str().unwrap();
        let (board, measurements) = (fixture("boards", name), fixture("measurements", name));
        let [board, measurements] = [board, measurements].map(|path| path.display().to_string());
        let shown =
            workplace.succeed(&["calibrate", "--board", &board, "--measurements", &measurements, "-o", "made.json"]);
        assert!(
            ["Median error", "table 2", "equations 8 to 13", "Shisha, table 1"]
                .iter()
                .any(|expected| shown.contains(expected)),
            "{shown}"
        );
        let (made, kept) = (read(&workplace.path("made.json")), read(&fixture("costs", name)));
        assert!(is_close(&made, &kept), "{name}: make fixtures/costs again with `cargo xtask calibrate`");
        count += 1;
    }
    assert!(count >= 30, "{count} boards are left");
}

#[test]
fn networks_that_were_measured_take_what_was_measured() {
    let (workplace, hikey) = (Workplace::new(), board("hikey-970"));
    let shown = workplace
        .succeed(&with_board(&["schedule", "--model", "zoo:mobilenet-v1", "--objective", "latency", "--json"], &hikey));
    let report: Value = serde_json::from_str(&shown).unwrap();
    // Table IV: 17.4 frames/s on four big cores; nothing else gives a lower latency but more processors on one frame.
    let latency = report["schedule"]["predicted"]["latency_seconds"].as_f64().unwrap();
    assert!(latency < 1.0 / 17.4 && latency > 0.4 / 17.4, "{latency}");
    assert!(report["schedule"]["predicted"]["joules_per_frame"].as_f64().unwrap() > 0.0);
}

/// What a board says of its links reaches the search, whatever a file of costs says of them.
#[test]
fn no_frame_goes_over_a_link_that_is_too_slow() {
    let workplace = Workplace::new();
    let schedule = |name: &str, model: &str, ends: [(&str, &str); 2]| -> Value {
        let mut board = read(&fixture("boards", name));
        let link = |(from, to): (&str, &str)| json!({"from": from, "to": to, "bytes_per_second": 1e3, "latency_seconds": 10.0});
        board["links"] = Value::Array(ends.into_iter().map(link).collect());
        std::fs::write(workplace.path("board.json"), board.to_string()).unwrap();
        let costs = fixture("costs", name).display().to_string();
        let command = ["schedule", "--json", "--board", "board.json", "--cost", &costs, "--model", model];
        serde_json::from_str(&workplace.succeed(&command)).unwrap()
    };
    let clusters = |stage: &Value| -> Vec<String> {
        let replicas = stage["replicas"].as_array().unwrap().iter();
        let processors = replicas.flat_map(|replica| replica["assignments"].as_array().unwrap());
        processors.map(|own| own["processor"]["cluster"].as_str().unwrap().to_owned()).collect()
    };
    let report = schedule("hikey-970", "zoo:alexnet", [("B", "s"), ("s", "B")]);
    for pair in report["schedule"]["stages"].as_array().unwrap().windows(2) {
        let (before, after) = (clusters(&pair[0]), clusters(&pair[1]));
        assert!(before.iter().all(|from| after.iter().all(|to| from == to)), "{before:?} {after:?}");
    }
    assert!(report["schedule"]["predicted"]["period_seconds"].as_f64().unwrap() < 0.2);
    let report = schedule("khadas-vim3", "zoo:squeezenet", [("B", "G"), ("s", "G")]);
    let stages = report["schedule"]["stages"].as_array().unwrap();
    assert!(stages.iter().all(|stage| !clusters(stage).contains(&"G".to_owned())), "{stages:?}");
}

#[test]
fn energy_is_an_objective_with_clocks_and_limits() {
    let (workplace, vim) = (Workplace::new(), board("khadas-vim3"));
    let report = |more: &[&str]| -> Value {
        let command = [&["schedule", "--model", "zoo:squeezenet", "--json"], more].concat();
        serde_json::from_str(&workplace.succeed(&with_board(&command, &vim))).unwrap()
    };
    let schedule = |more: &[&str]| report(more)["schedule"].take();
    let joules = |schedule: &Value| schedule["predicted"]["joules_per_frame"].as_f64().unwrap();
    let fast = schedule(&[]);
    let frugal = schedule(&["--objective", "energy"]);
    assert!(joules(&frugal) < 0.8 * joules(&fast), "{} {}", joules(&frugal), joules(&fast));
    let mut at_all_clocks = report(&["--objective", "energy", "--min-throughput", "20", "--clocks"]);
    let clocked = at_all_clocks["clocked_front"].as_array().unwrap();
    let is_whole = |point: &Value| point["clocks"]["B"].is_u64() && point["joules_per_frame"].as_f64() > Some(0.0);
    assert!(clocked.len() > 1 && clocked.iter().all(is_whole), "{clocked:?}");
    let slower = at_all_clocks["schedule"].take();
    assert!(slower["clocks"]["B"].as_u64().unwrap() < 2_208_000_000, "{}", slower["clocks"]);
    assert!(slower["predicted"]["period_seconds"].as_f64().unwrap() <= 0.05);

    // A schedule with clocks is simulated at these clocks.
    let simulated: Value =
        serde_json::from_str(&workplace.succeed(&with_board(&["simulate", "--json"], &vim))).unwrap();
    let ratio = simulated["simulated_period_seconds"].as_f64().unwrap()
        / slower["predicted"]["period_seconds"].as_f64().unwrap();
    assert!((ratio - 1.0).abs() < 0.05, "{ratio}");
    let shown = workplace.succeed(&with_board(&["schedule", "--model", "zoo:squeezenet"], &board("hikey-970")));
    assert!(shown.contains("The idle power of B, s is not known and counted as 0 W."), "{shown}");
    let weak = schedule(&["--max-power", "2"]);
    assert!(weak["predicted"]["watts"].as_f64().unwrap() <= 2.0);
    let message = workplace.fail(&with_board(&["schedule", "--max-power", "0.01"], &vim));
    assert!(message.contains("no pipeline that was found draws 0.010 W or less: the least is"), "{message}");
    let message = workplace.fail(&with_board(&["schedule", "--objective", "energy"], &board("rk3588")));
    assert!(message.contains("the power of B1 is not known"), "{message}");

    // What is planned keeps its limits with the memory's bandwidth; with slower cores it does not, and the simulation
    // says so.
    workplace.succeed(&with_board(&["schedule", "--min-throughput", "58", "--margin", "10%"], &vim));
    let kept = workplace.succeed(&with_board(&["simulate", "--memory"], &vim));
    let missed = workplace.succeed(&with_board(&["simulate", "--speed", "1ms:B:0.8"], &vim));
    let missed = in_one_line(&missed);
    assert!(
        !kept.contains("Missed:") && missed.contains("% under the 58.00 frames/s that it was planned for"),
        "{missed}"
    );

    let message = workplace.fail(&with_board(&["schedule", "--min-throughput", "64", "--margin", "10%"], &vim));
    assert!(
        message.contains("with a margin of 10.0 %: no pipeline that was found passes 70.40 frames/s or more"),
        "{message}"
    );
}

#[test]
fn several_networks_are_scheduled_and_simulated_together() {
    let (workplace, hikey) = (Workplace::new(), board("hikey-970"));
    let both = ["schedule", "--model", "zoo:mobilenet-v1", "--model", "zoo:resnet50"];
    let shown = workplace.succeed(&with_board(&both, &hikey));
    assert!(shown.contains("frames/s of each network, times its weight"), "{shown}");
    assert_eq!(read(&workplace.path("schedule.json"))["takes_turns"], true);
    let shown = workplace.succeed(&with_board(&["simulate", "--frames", "20"], &hikey));
    assert!(shown.contains("Rounds: ") && shown.contains("of it alone"), "{shown}");

    // A deadline that turns do not meet: processors are divided.
    workplace.succeed(&with_board(&[&both[..], &["--deadline", "resnet50=900ms"]].concat(), &hikey));
    let set = read(&workplace.path("schedule.json"));
    assert_eq!(set["format"], "millstream-schedule-set");
    assert_eq!(set["takes_turns"], false);
    assert_eq!(set["networks"].as_array().unwrap().len(), 2);
    let simulated: Value =
        serde_json::from_str(&workplace.succeed(&with_board(&["simulate", "--json"], &hikey))).unwrap();
    for (own, simulated) in set["networks"].as_array().unwrap().iter().zip(simulated.as_array().unwrap()) {
        let predicted = own["schedule"]["predicted"]["period_seconds"].as_f64().unwrap();
        let found = simulated["simulated_period_seconds"].as_f64().unwrap();
        // Uneven replicas need many frames to show their mean.
        assert!((found / predicted - 1.0).abs() < 0.08, "{found} {predicted}");
    }
    let crowded: Value =
        serde_json::from_str(&workplace.succeed(&with_board(&["simulate", "--memory", "--json"], &hikey))).unwrap();
    assert_eq!(crowded.as_array().unwrap().len(), 2);
    let with = |more: &[&str]| workplace.fail(&with_board(&[&both, more].concat(), &hikey));
    let message = with(&["--deadline", "resnet50=150ms", "--deadline", "mobilenet-v1=60ms"]);
    assert!(message.contains("the deadlines can't all be met: ") && message.contains("the longest is"), "{message}");
    let message = with(&["--weight", "alexnet=2"]);
    assert!(message.contains("no network is called 'alexnet'; there are mobilenet-v1, resnet50"), "{message}");

    // Files of one name are told apart by their paths.
    let small = small_model(&workplace);
    std::fs::create_dir(workplace.path("other")).unwrap();
    std::fs::copy(small, workplace.path("other/small.onnx")).unwrap();
    let two = ["schedule", "--model", "small.onnx", "--model", "other/small.onnx", "--weight"];
    let message = workplace.fail(&with_board(&[&two[..], &["small=2"]].concat(), &hikey));
    assert!(message.contains("2 networks are called 'small': say small.onnx or other/small.onnx"), "{message}");
    let twice = ["schedule", "--model", "small.onnx", "--model", "small.onnx", "--weight", "small=2"];
    let message = workplace.fail(&with_board(&twice, &hikey));
    assert!(message.contains("called 'small' are the same file") && message.contains("other names"), "{message}");
    let shown = workplace.succeed(&with_board(&[&two[..], &["other/small.onnx=2"]].concat(), &hikey));
    assert!(!shown.contains("deadlines would be missed"), "{shown}");
    let message = with(&["--objective", "latency"]);
    assert!(message.contains("--weight and --deadline"), "{message}");
}

#[test]
fn what_happens_to_a_board_is_simulated() {
    let (workplace, vim) = (Workplace::new(), board("khadas-vim3"));
    let schedule = |output: &str, more: &[&str]| {
        let command = [&["schedule", "--model", "zoo:squeezenet", "-o", output], more].concat();
        workplace.succeed(&with_board(&command, &vim));
    };
    schedule("schedule.json", &[]);
    schedule("fallback.json", &["--objective", "energy"]);
    let simulate = |more: &[&str]| -> Value {
        let command = [&["simulate", "--json"], more].concat();
        serde_json::from_str(&workplace.succeed(&with_board(&command, &vim))).unwrap()
    };
    let period = |report: &Value| report["simulated_period_seconds"].as_f64().unwrap();
    let plain = simulate(&[]);
    assert!(period(&simulate(&["--no-memory"])) < period(&plain) / 1.02, "processors compete for memory");
    assert_eq!(simulate(&["--memory"]), plain);
    assert!(period(&simulate(&["--speed", "1ms:B:0.5"])) > 1.2 * period(&plain));

    let camera = simulate(&["--frame-rate", "5"]);
    assert!((period(&camera) - 0.2).abs() < 1e-3, "{}", period(&camera));
    let lost = simulate(&["--lose", "300ms:G"]);
    assert!(lost["unfinished"].as_u64().unwrap() > 0);
    let saved = simulate(&["--lose", "300ms:G", "--fallback", "fallback.json"]);
    assert_eq!((&saved["unfinished"], &saved["frames"]), (&Value::from(0), &Value::from(1000)));
    let hot = simulate(&["--heat", "--frames", "6000"]);
    assert!(period(&hot) > 1.01 * period(&plain), "{} {}", period(&hot), period(&plain));
    let fail = |more: &[&str]| workplace.fail(&with_board(&[&["simulate"], more].concat(), &vim));
    assert!(fail(&["--lose", "1s:77"]).contains("board 'Khadas VIM3' has no core 77"));
    assert!(fail(&["--frame-rate", "0.000001", "--frames", "20000"]).contains("all arrive within a century"));
    assert!(fail(&["--speed", "1s:B"]).contains("is not TIME:LABEL:FACTOR"));
    let other = workplace.fail(&with_board(&["simulate", "--heat"], &board("rk3588")));
    assert!(other.contains("make a schedule for this board"), "{other}");
    assert!(other.contains("`cargo xtask simulate --board khadas-vim3 --cost khadas-vim3 --schedule FILE`"), "{other}");
}

#[test]
fn measurements_that_make_no_sense_are_refused() {
    let (workplace, hikey) = (Workplace::new(), fixture("boards", "hikey-970").display().to_string());
    let good = std::fs::read_to_string(fixture("measurements", "hikey-970")).unwrap();
    let refused = |text: &str| {
        std::fs::write(workplace.path("wrong.json"), text).unwrap();
        workplace.fail(&["calibrate", "--board", &hikey, "--measurements", "wrong.json"])
    };
    let message = refused(&good.replacen("\"alexnet\"", "\"lexnet\"", 1));
    assert!(message.contains("throughputs[0].model: is 'lexnet', which is no network of the zoo"), "{message}");
    let message = refused(&good.replacen("8.1", "-8.1", 1));
    assert!(message.contains("throughputs[0].frames_per_second: must be a positive number"), "{message}");
    let message = refused(&good.replacen("\"cluster\": \"B\"", "\"cluster\": \"X\"", 1));
    assert!(message.contains("throughputs[0].processor: is X4, which board 'HiKey970' does not have"), "{message}");
    let message = refused(r#"{"format": "millstream-measurements", "version": 1}"#);
    assert!(message.contains("say nothing of 'B'"), "{message}");
    assert!(!workplace.path("cost.json").exists(), "nothing is written");
}
