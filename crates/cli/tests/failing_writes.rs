//! Every system call by which a command writes a file fails once: whole files are what they were or all of what they
//! become, what can't be written is no success, and nothing is left behind.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use millstream_test_support::not_tested;
use serde_json::Value;
use support::{Workplace, small_model};

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
    /// Where whole files are made, and the folder as well.
    folder: Option<&'a str>,
}

/// What there is where a command writes.
#[derive(Clone, Copy)]
enum Before {
    Files,
    Nothing,
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
    if !runs {
        not_tested("STRACE", "strace can't be run");
        return None;
    }
    Some(Command::new("strace"))
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
        if is_of_output(&own, call, told) {
            let path = path.map(str::to_owned);
            places.push(Place { call: call.to_owned(), number: *number, path, text: text.to_owned() });
        }
    }
    assert!(places.iter().any(|place| place.call == "openat"), "{text}");
    Some(places)
}

/// Whether a call writes into a folder, or to standard output.
fn is_of_output(folder: &str, call: &str, told: &str) -> bool {
    let is_read = call == "openat" && told.contains("O_RDONLY");
    let is_elsewhere = told.contains("/cache") || told.contains("/millstream-");
    let is_own = told.contains(folder) && !is_elsewhere;
    is_own && !is_read || call == "write" && told.starts_with("1<")
}

/// Runs the command with a system call that fails, in each thread that makes so many of them; tells how many did, and
/// whether one of them writes what is wanted: where threads make their calls in another order, others fail in its
/// place.
fn failing(workplace: &Workplace, place: &Place, arguments: &[&str]) -> Option<(Output, usize, bool)> {
    let log = tempfile::NamedTempFile::new().unwrap();
    let log_path = log.path().display().to_string();
    let trace = format!("trace={}", place.call);
    let inject = format!("inject={}:error=ENOSPC:when={}", place.call, place.number);
    let mut options = vec!["-y", "-o", &log_path, "-e", &trace, "-e", &inject];
    options.extend(place.path.as_deref().into_iter().flat_map(|path| ["-P", path]));
    let output = traced(workplace, &options, arguments)?;
    let own = workplace.path("").canonicalize().unwrap().display().to_string();
    let is_met = |line: &&str| {
        let call = line.split_once(' ').and_then(|(_, text)| text.trim_start().split_once('('));
        call.is_some_and(|(call, told)| is_of_output(&own, call, told))
    };
    let text = fs::read_to_string(log.path()).unwrap();
    let injected: Vec<&str> = text.lines().filter(|line| line.ends_with("(INJECTED)")).collect();
    Some((output, injected.len(), injected.iter().any(is_met)))
}

impl Writer<'_> {
    /// Puts in place what was there before: files of that name, or none.
    fn prepare(&self, workplace: &Workplace, before: Before) {
        if let Some(folder) = self.folder {
            let _ = fs::remove_dir_all(workplace.path(folder));
        }
        for name in self.whole.iter().chain(self.growing) {
            match before {
                Before::Files => drop(workplace.write(name, AS_IT_WAS)),
                Before::Nothing => drop(fs::remove_file(workplace.path(name))),
            }
        }
    }

    /// Whether a command that could not do this can't have done what it was asked to. For other calls there is another
    /// way to the same end.
    fn must_fail(&self, place: &Place) -> bool {
        let is_growing = || place.path.as_deref().is_some_and(|path| self.growing.contains(&path));
        match place.call.as_str() {
            "write" | "fsync" | "rename" | "renameat" | "renameat2" | "mkdir" => true,
            "openat" => is_growing(),
            _ => false,
        }
    }

    /// What is wrong after one system call failed.
    fn faults(&self, workplace: &Workplace, output: &Output, inputs: &[PathBuf], before: Before) -> Vec<String> {
        let mut faults = Vec::new();
        let stderr = String::from_utf8_lossy(&output.stderr);
        if stderr.contains("panicked") || !matches!(output.status.code(), Some(0..=2)) {
            faults.push(format!("it ended with {}: {stderr}", output.status));
        }
        for name in self.whole {
            let is_old = match before {
                Before::Files => fs::read(workplace.path(name)).is_ok_and(|content| content == AS_IT_WAS.as_bytes()),
                Before::Nothing => !workplace.path(name).exists(),
            };
            if !is_old && !is_whole(&workplace.path(name)) {
                faults.push(format!("{name} is neither as it was nor whole"));
            }
            if is_old && output.status.success() {
                faults.push(format!("{name} was not written, but that is a success"));
            }
        }
        let left = all_files(&workplace.path("")).into_iter().filter(|file| !inputs.contains(file));
        let is_known = |file: &PathBuf| self.whole.iter().chain(self.growing).any(|name| file.ends_with(name));
        let in_folder = |file: &PathBuf| self.folder.is_some_and(|folder| file.starts_with(workplace.path(folder)));
        let unknown: Vec<PathBuf> =
            left.filter(|file| !(is_known(file) || in_folder(file) && is_whole(file))).collect();
        if !unknown.is_empty() {
            faults.push(format!("left behind: {unknown:?}"));
        }
        faults
    }
}

/// Whether a file has all that it should have.
fn is_whole(file: &Path) -> bool {
    let content = fs::read(file).unwrap_or_default();
    match file.extension().and_then(|extension| extension.to_str()) {
        Some("json") => {
            serde_json::from_slice::<Value>(&content).is_ok_and(|value| value.is_object() || value.is_array())
        }
        Some("html") => content.starts_with(b"<!DOCTYPE html>") && content.ends_with(b"</html>"),
        // The directory comes last, with its mark 22 bytes before the end.
        Some("npz") => {
            content.starts_with(b"PK\x03\x04")
                && content.rchunks(22).next().is_some_and(|end| end.starts_with(b"PK\x05\x06"))
        }
        _ => false,
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

/// Has each of the places fail, one at a time, where files of the names were there and where there was nothing.
fn check(workplace: &Workplace, writer: &Writer<'_>) {
    let inputs = all_files(&workplace.path(""));
    let mut wrong = Vec::new();
    let mut never: Vec<String> = Vec::new();
    let mut tried = 0;
    for before in [Before::Files, Before::Nothing] {
        writer.prepare(workplace, before);
        let Some(places) = places(workplace, writer.arguments) else { return };
        for place in &places {
            writer.prepare(workplace, before);
            let Some((output, injected, is_met)) = failing(workplace, place, writer.arguments) else { return };
            tried += 1;
            never.extend((injected == 0).then(|| format!("{} {}", place.number, place.text)));
            let mut faults = writer.faults(workplace, &output, &inputs, before);
            // Where writes fail, the message may be one of them.
            let is_told = place.call == "write" || String::from_utf8_lossy(&output.stderr).contains("error: ");
            if !output.status.success() && !is_told {
                faults.push("it says nothing of the error".to_owned());
            }
            if is_met && writer.must_fail(place) && output.status.success() {
                faults.push("what failed is called a success".to_owned());
            }
            wrong.extend(faults.into_iter().map(|fault| format!("{fault}\n  where this fails: {}", place.text)));
        }
    }
    assert!(wrong.is_empty(), "of {tried} places:\n{}", wrong.join("\n"));
    // Threads of a run may make their calls in another order.
    assert!(10 * never.len() <= tried, "{} of {tried} places were not met again: {never:#?}", never.len());
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
            "--html",
            "page.html",
        ],
        whole: &["schedule.json", "proof.json", "page.html"],
        growing: &[],
        folder: None,
    };
    check(&described(), &writer);
}

#[test]
fn cost_models_and_schemas_are_whole_or_not_there() {
    let workplace = Workplace::new();
    // A board whose costs are made at once.
    fs::copy(fixture("boards/chiplet-c1.json"), workplace.path("board.json")).unwrap();
    fs::copy(fixture("measurements/chiplet-c1.json"), workplace.path("published.json")).unwrap();
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
    workplace.succeed(&["profile", "--model", "small.onnx", "--no-sweep", "--budget", "200ms"]);
    workplace.succeed(&["schedule", "--model", "small.onnx", "--profile", "profile.json"]);
    let run = Writer {
        arguments: &["run", "--frames", "3", "--trace", "trace.json", "--csv", "frames.csv", "--output", "made"],
        whole: &[],
        growing: &["trace.json", "frames.csv"],
        folder: Some("made"),
    };
    check(&workplace, &run);
    let simulate = Writer {
        arguments: &["simulate", "--profile", "profile.json", "--frames", "3", "--trace", "simulated.json"],
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
        arguments: &["profile", "--model", "small.onnx", "--no-sweep", "--budget", "100ms"],
        whole: &["profile.json"],
        growing: &[],
        folder: None,
    };
    check(&workplace, &profile);
}
