//! Every system call by which a command writes a file fails once: the file is what it was or all of what it becomes, the command does not
//! call that a success, and nothing is left behind.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use support::{Workplace, small_model};

/// Where it is set, it is a failure that the program is missing which has system calls fail.
const NEEDED: &str = "MILLSTREAM_NEEDS_STRACE";
/// What writes, names or makes files.
const CALLS: &str =
    "openat,write,writev,pwrite64,fallocate,ftruncate,fsync,fdatasync,fchmod,linkat,rename,renameat,renameat2,mkdir";
const AS_IT_WAS: &str = "as it was";

/// A command and the files that it writes.
struct Writer<'a> {
    arguments: &'a [&'a str],
    /// Written whole or not at all.
    whole: &'a [&'a str],
    /// Written as it comes: what is there of it when the command ends early is of use.
    growing: &'a [&'a str],
    /// It may be there already.
    folder: Option<&'a str>,
}

/// One call of a system call in some thread.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    call: String,
    /// The thread's calls of this name so far, this one included; with a path, those of this path.
    number: usize,
    /// What is opened. Threads open other files before, so that numbers alone don't tell.
    path: Option<String>,
    text: String,
}

fn strace() -> Option<Command> {
    let runs =
        Command::new("strace").args(["-qq", "-o", "/dev/null", "true"]).status().is_ok_and(|status| status.success());
    assert!(runs || std::env::var_os(NEEDED).is_none(), "strace is needed, and can't be run");
    runs.then(|| Command::new("strace"))
}

/// Runs the command under `strace` with these options.
fn traced(workplace: &Workplace, options: &[&str], arguments: &[&str]) -> Option<Output> {
    let mut command = strace()?;
    command.args(["-f", "-qq"]).args(options).arg(env!("CARGO_BIN_EXE_millstream")).args(arguments);
    command.current_dir(workplace.path("")).env("XDG_CACHE_HOME", workplace.path("cache")).env_remove("COLUMNS");
    Some(command.output().unwrap())
}

/// Where the command writes to files below its folder, or to standard output.
fn places(workplace: &Workplace, arguments: &[&str]) -> Option<Vec<Place>> {
    let log = tempfile::NamedTempFile::new().unwrap();
    let trace = format!("trace={CALLS}");
    let output = traced(workplace, &["-y", "-o", &log.path().display().to_string(), "-e", &trace], arguments)?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let own = workplace.path("").canonicalize().unwrap().display().to_string();
    let mut numbers: HashMap<(&str, &str, Option<&str>), usize> = HashMap::new();
    let mut places = Vec::new();
    let text = fs::read_to_string(log.path()).unwrap();
    for line in text.lines() {
        let Some((thread, text)) = line.split_once(' ') else { continue };
        let text = text.trim_start();
        let Some((call, told)) = text.split_once('(') else { continue };
        let path = (call == "openat").then(|| told.split('"').nth(1)).flatten();
        let number = numbers.entry((thread, call, path)).or_default();
        *number += 1;
        let is_read = call == "openat" && told.contains("O_RDONLY");
        let is_own = told.contains(&own) && !told.contains("/cache/");
        let is_output = call == "write" && told.starts_with("1<");
        if is_own && !is_read || is_output {
            let path = path.map(str::to_owned);
            places.push(Place { call: call.to_owned(), number: *number, path, text: text.to_owned() });
        }
    }
    assert!(places.iter().any(|place| place.call == "openat"), "{text}");
    Some(places)
}

/// Runs the command with one system call that fails.
fn failing(workplace: &Workplace, place: &Place, arguments: &[&str]) -> Option<Output> {
    let trace = format!("trace={}", place.call);
    let inject = format!("inject={}:error=ENOSPC:when={}", place.call, place.number);
    let mut options = vec!["-o", "/dev/null", "-e", &trace, "-e", &inject];
    options.extend(place.path.as_deref().into_iter().flat_map(|path| ["-P", path]));
    traced(workplace, &options, arguments)
}

impl Writer<'_> {
    /// Puts what was there before in place.
    fn prepare(&self, workplace: &Workplace) {
        for name in self.whole.iter().chain(self.growing) {
            if let Some(folder) = Path::new(name).parent() {
                fs::create_dir_all(workplace.path("").join(folder)).unwrap();
            }
            workplace.write(name, AS_IT_WAS);
        }
    }

    /// What is wrong after one system call failed.
    fn faults(&self, workplace: &Workplace, output: &Output, inputs: &[PathBuf]) -> Vec<String> {
        let mut faults = Vec::new();
        let stderr = String::from_utf8_lossy(&output.stderr);
        if stderr.contains("panicked") || !matches!(output.status.code(), Some(0..=2)) {
            faults.push(format!("it ended with {}: {stderr}", output.status));
        }
        for name in self.whole {
            let content = fs::read_to_string(workplace.path(name)).unwrap_or_default();
            let is_whole = !name.ends_with(".json") || serde_json::from_str::<Value>(&content).is_ok();
            let is_old = content == AS_IT_WAS;
            if !is_old && !is_whole {
                faults.push(format!("{name} is neither old nor whole: {content:.100}"));
            }
            if is_old && output.status.success() {
                faults.push(format!("{name} was not written, but that is a success"));
            }
        }
        if !output.status.success() && !stderr.contains("error: ") {
            faults.push(format!("it says nothing of the error: {stderr}"));
        }
        let left: Vec<PathBuf> =
            all_files(&workplace.path("")).into_iter().filter(|file| !inputs.contains(file)).collect();
        let is_known = |file: &&PathBuf| !self.whole.iter().chain(self.growing).any(|name| file.ends_with(name));
        let in_folder = |file: &&PathBuf| !self.folder.is_some_and(|folder| file.starts_with(workplace.path(folder)));
        let unknown: Vec<&PathBuf> = left.iter().filter(is_known).filter(in_folder).collect();
        if !unknown.is_empty() {
            faults.push(format!("left behind: {unknown:?}"));
        }
        faults
    }
}

/// All files but those of the cache.
fn all_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            if entry.file_name() != "cache" {
                files.extend(all_files(&entry.path()));
            }
        } else {
            files.push(entry.path());
        }
    }
    files
}

/// Has each of the places fail, one at a time.
fn check(workplace: &Workplace, writer: &Writer<'_>) {
    let inputs = all_files(&workplace.path(""));
    writer.prepare(workplace);
    let Some(places) = places(workplace, writer.arguments) else { return };
    let mut wrong = Vec::new();
    for place in &places {
        writer.prepare(workplace);
        let Some(output) = failing(workplace, place, writer.arguments) else { return };
        let mut faults = writer.faults(workplace, &output, &inputs);
        // For these there is no other way to the same end.
        if matches!(place.call.as_str(), "write" | "fsync") && output.status.success() {
            faults.push("what failed is called a success".to_owned());
        }
        wrong.extend(faults.into_iter().map(|fault| format!("{fault}\n  where this fails: {}", place.text)));
    }
    assert!(wrong.is_empty(), "of {} places:\n{}", places.len(), wrong.join("\n"));
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(name)
}

/// A folder with a small model and a board whose costs are known.
fn described() -> Workplace {
    let workplace = Workplace::new();
    small_model(&workplace);
    fs::copy(fixture("boards/hikey-970.json"), workplace.path("board.json")).unwrap();
    fs::copy(fixture("costs/hikey-970.json"), workplace.path("cost.json")).unwrap();
    workplace
}

#[test]
fn a_schedule_and_its_certificate_are_whole_or_not_there() {
    let writer = Writer {
        arguments: &[
            "schedule",
            "--model",
            "small.onnx",
            "--board",
            "board.json",
            "--cost",
            "cost.json",
            "--certificate",
            "proof.json",
        ],
        whole: &["schedule.json", "proof.json"],
        growing: &[],
        folder: None,
    };
    check(&described(), &writer);
}

#[test]
fn cost_models_and_schemas_are_whole_or_not_there() {
    let workplace = described();
    fs::copy(fixture("measurements/hikey-970.json"), workplace.path("published.json")).unwrap();
    let calibrate = Writer {
        arguments: &["calibrate", "--board", "board.json", "--measurements", "published.json", "--output", "made.json"],
        whole: &["made.json"],
        growing: &[],
        folder: None,
    };
    check(&workplace, &calibrate);
    let schemas = Writer { arguments: &["schemas", "made"], whole: &[], growing: &[], folder: Some("made") };
    check(&workplace, &schemas);
}

#[test]
fn what_a_run_writes_is_whole_or_of_use() {
    let workplace = Workplace::new();
    small_model(&workplace);
    workplace.succeed(&["schedule", "--model", "small.onnx"]);
    let run = Writer {
        arguments: &["run", "--frames", "3", "--trace", "trace.json", "--csv", "frames.csv", "--output", "made"],
        whole: &[],
        growing: &["trace.json", "frames.csv"],
        folder: Some("made"),
    };
    check(&workplace, &run);
    let simulate = Writer {
        arguments: &["simulate", "--frames", "3", "--trace", "simulated.json"],
        whole: &["simulated.json"],
        growing: &[],
        folder: None,
    };
    check(&workplace, &simulate);
}

#[test]
fn a_profile_is_whole_or_not_there() {
    let workplace = Workplace::new();
    small_model(&workplace);
    let profile = Writer {
        arguments: &["profile", "--model", "small.onnx", "--no-sweep", "--budget", "1s"],
        whole: &["profile.json"],
        growing: &[],
        folder: None,
    };
    check(&workplace, &profile);
}
