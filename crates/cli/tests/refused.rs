//! What the system refuses is an error: threads, and places to print to.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use std::fs::OpenOptions;
use std::process::{Command, Output, Stdio};

use support::{Workplace, small_model};

fn command(workplace: &Workplace, arguments: &[&str]) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("millstream"));
    command.current_dir(workplace.path("")).env("XDG_CACHE_HOME", workplace.path("cache")).args(arguments);
    command
}

/// With stacks that fit into no memory, no thread starts.
fn without_threads(workplace: &Workplace, arguments: &[&str]) -> Output {
    command(workplace, arguments).env("RUST_MIN_STACK", (1_u64 << 46).to_string()).output().unwrap()
}

/// As a full disk leaves it: the system would end the process where the library goes on behind the end of the file.
#[test]
fn a_library_that_was_cut_off_is_an_error() {
    let workplace = Workplace::new();
    let library = std::fs::read(std::env::var_os("ORT_DYLIB_PATH").unwrap()).unwrap();
    let path = workplace.write("libonnxruntime.so", &library[..library.len() / 2]);
    let output =
        workplace.command(&["schedule", "--model", "zoo:squeezenet"]).env("ORT_DYLIB_PATH", path).output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("is not whole") && message.contains("ORT_DYLIB_PATH"), "{message}");
}

#[test]
fn threads_that_can_not_be_started_are_an_error() {
    let workplace = Workplace::new();
    small_model(&workplace);
    let profile = ["profile", "--no-sweep", "--model", "small.onnx", "--budget", "200ms"];
    let refused = |arguments: &[&str]| {
        let output = without_threads(&workplace, arguments);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {message}");
        assert!(message.contains("error: ") && message.contains("cannot start"), "{arguments:?}: {message}");
        assert!(!message.contains("panicked"), "{arguments:?}: {message}");
    };
    refused(&profile);
    refused(&["profile", "--budget", "200ms"]);
    workplace.succeed(&profile);
    workplace.succeed(&["schedule", "--model", "small.onnx", "--profile", "profile.json"]);
    refused(&["run", "--frames", "4"]);
    refused(&["compare", "--model", "small.onnx"]);
    // What only goes faster with threads needs none.
    let output = without_threads(&workplace, &["schedule", "--model", "zoo:vgg16", "--json", "--board", "small.json"]);
    assert!(!String::from_utf8_lossy(&output.stderr).contains("panicked"));
}

/// Where nobody can read remarks and log records, work goes on.
#[test]
fn standard_error_that_can_not_be_written() {
    let workplace = Workplace::new();
    let fixture = |kind: &str| format!("{}/../../fixtures/{kind}/hikey-970.json", env!("CARGO_MANIFEST_DIR"));
    let (board, costs) = (fixture("boards"), fixture("costs"));
    let schedule =
        ["-vv", "schedule", "--model", "zoo:squeezenet", "--board", &board, "--cost", &costs, "-o", "made.json"];
    let full = || OpenOptions::new().write(true).open("/dev/full").unwrap();
    let made = || std::fs::remove_file(workplace.path("made.json")).unwrap();

    let status = command(&workplace, &schedule).stdout(Stdio::null()).stderr(full()).status().unwrap();
    assert!(status.success(), "{status}");
    made();
    let mut unread = command(&workplace, &schedule).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    drop(unread.stderr.take());
    let status = unread.wait().unwrap();
    assert!(status.success(), "{status}");
    made();
    // The exit code says what the message can't.
    let status = command(&workplace, &["schedule", "--model", "gone.onnx"]).stderr(full()).status().unwrap();
    assert_eq!(status.code(), Some(1));
    let status = command(&workplace, &["schedule", "--colour"]).stderr(full()).status().unwrap();
    assert_eq!(status.code(), Some(2));
}

#[test]
fn help_on_a_full_disk_is_no_success() {
    let workplace = Workplace::new();
    let full = || OpenOptions::new().write(true).open("/dev/full").unwrap();
    for arguments in [&["--help"][..], &["run", "--help"], &["--version"]] {
        let output = command(&workplace, arguments).stdout(full()).stderr(Stdio::piped()).output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert!(message.contains("cannot write to standard output"), "{message}");
    }
}

#[test]
fn a_dash_is_no_file() {
    let workplace = Workplace::new();
    let message = workplace.fail(&["schedule", "-o", "-"]);
    assert!(message.contains("/dev/stdout"), "{message}");
    assert!(workplace.files().is_empty());
}
