//! `deploy --system`: what is planned, and what the program of hosts is told. Here it is a stand-in; the tests of
//! `millstream-node` run the real one.

#![cfg(all(unix, feature = "highs"))]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;

use support::{Workplace, in_one_line, small_model, text};

/// A place with a system of two hosts and a program that writes down what it is told, and ends with a code.
fn place(code: i32) -> Workplace {
    let workplace = Workplace::new();
    small_model(&workplace);
    let system = r#"{"format": "millstream-system", "version": 1, "name": "two",
        "hosts": [{"id": "rk", "board": "rk3588"}, {"id": "pi", "board": "raspberry-pi-5"}],
        "links": [{"hosts": ["rk", "pi"], "latency_seconds": 2e-4, "bytes_per_second": 1e9}]}"#;
    workplace.write("two.json", system);
    let program = workplace.write("node.sh", format!("#!/bin/sh\nprintf '%s\\n' \"$@\" > told\nexit {code}\n"));
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    workplace
}

const DEPLOY: [&str; 5] = ["deploy", "--system", "two.json", "--model", "small.onnx"];

#[test]
fn hosts_get_a_schedule_and_one_for_when_each_is_lost() {
    let workplace = place(0);
    let more = ["--frames", "7", "-o", "out", "--", "--via", "pi=ssh me@pi", "--tunnel"];
    let mut command = workplace.command(&[&DEPLOY[..], &more].concat());
    let said = command.env("MILLSTREAM_NODE", workplace.path("node.sh")).assert().success();
    let said = in_one_line(&String::from_utf8_lossy(&said.get_output().stderr));
    assert!(said.contains("out/without-pi.json") && said.contains("for when 'pi' is lost"), "{said}");

    let configuration = |name: &str| {
        let schedule: serde_json::Value = serde_json::from_str(&text(&workplace.path("out").join(name))).unwrap();
        schedule["configuration"].as_str().unwrap().to_owned()
    };
    assert!(!configuration("without-pi.json").contains("pi/") && !configuration("without-rk.json").contains("rk/"));
    assert!(workplace.path("out/schedule.json").is_file());
    let told = text(&workplace.path("told"));
    let expected = "run --system two.json --schedule out/schedule.json --fallback out/without-rk.json --fallback \
                    out/without-pi.json --frames=7 --output out/run.json --trace out/trace.json --via pi=ssh me@pi --tunnel";
    assert_eq!(in_one_line(&told), in_one_line(expected));
}

#[test]
fn what_keeps_hosts_from_running_is_told() {
    let workplace = place(3);
    let failing = |more: &[&str], program: &str| {
        let mut command = workplace.command(&[&DEPLOY[..], more].concat());
        let failed = command.env("MILLSTREAM_NODE", workplace.path(program)).assert().failure();
        in_one_line(&String::from_utf8_lossy(&failed.get_output().stderr))
    };
    let mut command = workplace.command(&DEPLOY);
    // What comes of it is the program's to say.
    command.env("MILLSTREAM_NODE", workplace.path("node.sh")).assert().code(3);
    let missing = failing(&[], "nowhere");
    assert!(missing.contains("cannot start") && missing.contains("MILLSTREAM_NODE"), "{missing}");
    assert!(failing(&["me@board"], "node.sh").contains("cannot be used with"));
    workplace.write("frame.npy", []);
    let formed = failing(&["--input", "frame.npy", "--scale", "2"], "node.sh");
    assert!(formed.contains("leave out --scale"), "{formed}");
    let nobody = in_one_line(&workplace.fail(&["deploy"]));
    assert!(nobody.contains("USER@HOST"), "{nobody}");
}
