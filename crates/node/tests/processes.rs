//! Hosts as processes that dora-rs starts. `MILLSTREAM_DORA` names its program, as `cargo xtask node-test` does.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod support;

use assert_cmd::Command;
use millstream_node::report::Report;
use support::{plan, system};

/// Runs the command in a folder; what it printed, and what it said.
fn run(folder: &std::path::Path, arguments: &[&str]) -> (bool, String, String) {
    let mut command = Command::cargo_bin("millstream-node").unwrap();
    let output = command.current_dir(folder).arg("run").args(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.success(), text(output.stdout), text(output.stderr))
}

#[test]
fn frames_go_through_two_hosts_and_back() {
    let folder = tempfile::tempdir().unwrap();
    system(folder.path(), &["a", "b"]);
    plan(folder.path(), &[], "schedule.json");
    let (is_right, report, said) = run(folder.path(), &["--system", "system.json", "--frames", "40", "--json"]);
    assert!(is_right, "{report}\n{said}");
    let report: Report = serde_json::from_str(&report).unwrap();
    assert!(report.is_right() && report.checked == 40, "{report:?}");
    assert_eq!(report.stages.iter().map(|own| own.host.as_str()).collect::<Vec<_>>(), ["a", "b"]);
}

#[test]
fn what_does_not_fit_is_told_before_anything_is_started() {
    let folder = tempfile::tempdir().unwrap();
    system(folder.path(), &["a", "b"]);
    plan(folder.path(), &[], "schedule.json");
    let said = |arguments: &[&str]| run(folder.path(), &[&["--system", "system.json"], arguments].concat()).2;
    assert!(said(&["--model", "zoo:mobilenet-v1"]).contains("schedule.json"));
    assert!(said(&["--via", "c=ssh c"]).contains("the system has no host 'c', only a, b"));
    assert!(said(&["--dora", "/nonexistent"]).contains("python3 -m pip install dora-rs-cli==1.1.0"));
    assert!(said(&["--schedule", "none.json"]).contains("none.json"));
    // A link that nobody measured.
    let text = std::fs::read_to_string(folder.path().join("system.json")).unwrap();
    let without = &text[..text.find("\"links\"").unwrap()];
    std::fs::write(folder.path().join("system.json"), format!("{without}\"links\": []}}")).unwrap();
    assert!(said(&[]).contains("link"), "{}", said(&[]));
}
