//! Boards that are known by name.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use serde_json::Value;
use support::Workplace;

#[test]
fn a_name_stands_for_a_board_and_its_costs() {
    let workplace = Workplace::new();
    let listed: Value = serde_json::from_str(&workplace.succeed(&["boards", "--json"])).unwrap();
    let names: Vec<&str> = listed.as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/boards")).unwrap();
    let is_board = |entry: &std::fs::DirEntry| entry.path().extension().is_some_and(|extension| extension == "json");
    assert_eq!(names.len(), files.filter(|entry| is_board(entry.as_ref().unwrap())).count());
    assert!(names.iter().all(|name| workplace.succeed(&["boards"]).contains(&format!("| {name} "))));
    let pi = ["--board", "raspberry-pi-5", "--cost", "raspberry-pi-5"];
    let said = workplace.command(&[&["schedule", "--model", "zoo:tiny-darknet"], &pi[..]].concat()).output().unwrap();
    assert!(said.status.success());
    let next = "simulate --schedule schedule.json --board raspberry-pi-5 --cost raspberry-pi-5";
    assert!(String::from_utf8_lossy(&said.stderr).contains(next));
    assert!(workplace.succeed(&[&["simulate", "--frames", "50"], &pi[..]].concat()).contains("frames/s"));
}

#[test]
fn a_file_comes_before_a_name_and_an_unknown_name_is_told() {
    let workplace = Workplace::new();
    let of_vim = workplace.succeed(&["board", "--board", "khadas-vim3", "--json"]);
    workplace.write("rk3588", &of_vim);
    assert_eq!(workplace.succeed(&["board", "--board", "rk3588", "--json"]), of_vim);
    let message = workplace.fail(&["schedule", "--board", "khadas-vim3", "--cost", "kadas-vim3"]);
    for part in ["no built-in costs 'kadas-vim3'", "did you mean khadas-vim3?", "`cargo xtask boards`"] {
        assert!(message.contains(part), "{message}");
    }
    assert!(workplace.fail(&["board", "--board", "none.json"]).contains("cannot read none.json"));
}

/// Where nothing says that it is run from its sources, the command names itself.
#[test]
fn an_installed_command_names_itself() {
    let workplace = Workplace::new();
    let output = workplace.command(&["schedule", "--help"]).env_remove("MILLSTREAM_COMMAND").output().unwrap();
    let help = String::from_utf8_lossy(&output.stdout);
    assert!(help.contains("  millstream schedule --model") && !help.contains("xtask"), "{help}");
    let output = workplace.command(&["run"]).env_remove("MILLSTREAM_COMMAND").output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains("millstream schedule") && !message.contains("xtask"), "{message}");
}
