//! From a sweep to cost models to a schedule of a network that was never measured.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use serde_json::Value;
use support::{Workplace, small_model, text, wait_until};

fn json(workplace: &Workplace, name: &str) -> Value {
    serde_json::from_str(&text(&workplace.path(name))).unwrap()
}

fn networks(workplace: &Workplace) -> Vec<String> {
    let profile = json(workplace, "profile.json");
    profile["networks"].as_array().unwrap().iter().map(|network| network["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn sweep_resume_fit_and_schedule() {
    let workplace = Workplace::new();
    small_model(&workplace);
    workplace.succeed(&["profile", "--budget", "500ms"]);
    assert_eq!(networks(&workplace), ["sweep-0"]);
    workplace.succeed(&["profile", "--budget", "500ms", "--resume", "--model", "small.onnx"]);
    assert_eq!(networks(&workplace), ["sweep-0", "small", "sweep-1"]);

    // Wide enough for no cell to take two lines.
    let fitted = workplace.command(&["fit", "--compare"]).env("COLUMNS", "200").assert().success();
    let shown = String::from_utf8_lossy(&fitted.get_output().stdout).into_owned();
    for expected in ["convolution", "Pipe-it, eq. 5", "co-scheduling, eq. 10-11", "R2", "GB/s", "Power"] {
        assert!(shown.contains(expected), "{expected}: {shown}");
    }
    assert!(text(&workplace.path("cost.svg")).contains("measured ms"));
    assert_eq!(json(&workplace, "cost.json")["format"], "millstream-cost");

    workplace.succeed(&["schedule", "--model", "small.onnx", "--cost", "cost.json"]);
    let predicted = json(&workplace, "schedule.json")["predicted"]["period_seconds"].as_f64().unwrap();
    assert!(predicted > 0.0);

    // Pipe-it's models predict other times for the same convolutions.
    let shown = workplace.succeed(&["fit", "--convolutions", "pipe-it", "-o", "pipe-it.json"]);
    assert!(shown.contains("Convolutions by Pipe-it's equations 5 and 8"), "{shown}");
    let large = ["cost.json", "pipe-it.json"].map(|cost| {
        workplace.succeed(&["schedule", "--model", "zoo:squeezenet", "--cost", cost]);
        json(&workplace, "schedule.json")["predicted"]["period_seconds"].as_f64().unwrap()
    });
    assert!(large.iter().all(|&period| period > 0.0) && large[0] != large[1], "{large:?}");
    assert!(json(&workplace, "cost.json")["convolutions"].is_null());

    // The networks that were learned from are no test.
    let message = workplace.fail(&["fit", "--test", "profile.json", "-o", "again.json"]);
    assert!(message.contains("networks that the models were not fitted to"), "{message}");
}

#[test]
fn profiles_that_can_not_be_fitted_are_refused_with_the_remedy() {
    let workplace = Workplace::new();
    small_model(&workplace);
    assert!(workplace.fail(&["fit"]).contains("cannot read profile.json"));
    assert!(workplace.fail(&["profile", "--no-sweep"]).contains("nothing to measure"));
    workplace.succeed(&["profile", "--no-sweep", "--model", "small.onnx", "--budget", "200ms"]);
    let whole = text(&workplace.path("profile.json"));
    // What ends within a number is another error.
    let half: String = whole.lines().take(whole.lines().count() / 2).map(|line| line.to_owned() + "\n").collect();
    let cases = [
        (half, "EOF while parsing"),
        (whole.replacen("\"version\": 2", "\"version\": 3", 1), "version: is 3"),
        (whole.replacen("\"median_seconds\": ", "\"median_seconds\": -", 1), "median_seconds: is -"),
        (whole.replacen("\"median_seconds\": ", "\"median_seconds\": NaN, \"x\": ", 1), "expected value at line"),
        (whole.replacen("\"board_fingerprint\": \"", "\"board_fingerprint\": \"0", 1), "board: has the fingerprint"),
    ];
    for (damaged, expected) in cases {
        workplace.write("damaged.json", &damaged);
        let message = workplace.fail(&["fit", "--profile", "damaged.json"]);
        assert!(message.contains("damaged.json") && message.contains(expected), "{expected}: {message}");
        assert!(message.contains("cargo xtask profile"), "{message}");
    }
    workplace.write("damaged.json", "{}");
    let message = workplace.fail(&["profile", "--resume", "-o", "damaged.json", "--budget", "200ms"]);
    assert!(message.contains("can't resume from damaged.json"), "{message}");
    assert_eq!(text(&workplace.path("damaged.json")), "{}", "what was there is not lost");
}

#[cfg(unix)]
#[test]
fn an_interrupted_profile_keeps_what_it_has() {
    use std::process::{Command, Stdio};

    let workplace = Workplace::new();
    let messages = workplace.write("messages", "");
    let mut child = Command::new(assert_cmd::cargo::cargo_bin("millstream"))
        .args(["profile", "--budget", "10m"])
        .current_dir(workplace.path(""))
        .env("MILLSTREAM_LOG", "millstream=info")
        .stderr(Stdio::from(std::fs::File::create(&messages).unwrap()))
        .spawn()
        .unwrap();
    // Progress is told while something is measured, and not while the next network is prepared, which may take longer
    // than a request to stop waits.
    let measures_another = || {
        let told = text(&messages);
        told.split_once("swept").is_some_and(|(_, after)| after.contains("sweeping layer shapes"))
    };
    wait_until(&mut child, "it measures after it has swept a network", |_| measures_another());
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let status = child.wait().unwrap();
    let message = text(&messages);
    assert_eq!(status.code(), Some(130), "{message}");
    assert!(message.contains("--resume goes on from there"), "{message}");
    let profile = json(&workplace, "profile.json");
    let samples = |network: &Value| network["operator_samples"].as_array().unwrap().len();
    let measured: Vec<usize> = profile["networks"].as_array().unwrap().iter().map(samples).collect();
    assert!(!measured.is_empty() && !measured.contains(&0), "{measured:?}");
    let before = networks(&workplace).len();
    workplace.succeed(&["profile", "--budget", "100ms", "--resume"]);
    assert_eq!(networks(&workplace).len(), before + 1);
}

#[test]
fn papers_are_reproduced() {
    let workplace = Workplace::new();
    let shown = workplace.succeed(&["reproduce", "co-scheduling", "--figures", "figures"]);
    assert!(shown.contains("Figure 10") && shown.ends_with("23 claims could fail: 18 hold, 5 miss.\n"), "{shown}");
    assert!(shown.contains("Checked, not counted: 4 ours beside ours."), "{shown}");
    assert!(text(&workplace.path("figures/co-scheduling-figure-10.svg")).contains("CPU + accelerator"));
    let claims: Value = serde_json::from_str(&workplace.succeed(&["reproduce", "pipe-it", "--json"])).unwrap();
    let claims = claims.as_array().unwrap();
    assert!(claims.iter().all(|claim| claim["holds"] == claim["reason"].is_null()), "{claims:?}");
    assert!(claims.iter().any(|claim| claim["ours"] == "B4" && claim["paper"] == "B4-s4"), "{claims:?}");
    assert_eq!(claims.iter().filter(|claim| claim["could_fail"] == false).count(), 2, "{claims:?}");
    assert!(workplace.fail(&["reproduce", "dream"]).contains("there is no paper 'dream'"));
}
