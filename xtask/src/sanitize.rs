//! Tests under tools that see what tests do not: AddressSanitizer, ThreadSanitizer, Miri.
//!
//! All of them need a nightly toolchain. The sanitizers see our code and its dependencies; ONNX Runtime is a finished
//! library, whose own reads and writes stay unseen, but memory that it is given or gives back is watched at the border,
//! through the allocator.

use std::path::Path;
use std::process::Command;

use crate::command::{Failure, capture, package, run};
use crate::folders::{root, target_folder};
use crate::native;

/// What to run under what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tool {
    Address,
    Thread,
    Miri,
}

/// What has unsafe code, or lends memory to foreign code.
const ADDRESS: &[&str] = &["--package", "millstream-backend-ort"];
/// What has threads of its own.
const THREAD: &str = "runtime";
/// Its tests over ONNX Runtime: what that does between threads is not seen, and is reported as races inside it.
const FOREIGN: &str = "networks";
/// Tests that do not suit the tools. What is freed is kept for a while, to notice who still uses it; and everything is
/// slower, so that other schedules are the best.
const UNSUITED: &[&str] = &[
    "memory_does_not_grow",
    "a_goal_of_latency_keeps_what_is_quick_for_a_frame",
    "a_slower_core_is_noticed_and_the_best_trial_stays",
];
/// What has no foreign code in its tests.
const MIRI: &[&str] = &["--package", "millstream-backend", "--package", "millstream-runtime", "--lib"];

/// Runs tests under the tool that is named; further arguments narrow them down as those of `cargo test` do.
pub(crate) fn sanitize(arguments: &[String]) -> Result<(), Failure> {
    let (name, rest) = arguments.split_first().ok_or_else(|| wanted("nothing"))?;
    let tool = match name.as_str() {
        "address" => Tool::Address,
        "thread" => Tool::Thread,
        "miri" => Tool::Miri,
        other => return Err(wanted(other)),
    };
    let host = host()?;
    match tool {
        Tool::Address => {
            let what: Vec<String> = ADDRESS.iter().map(|&argument| argument.to_owned()).collect();
            sanitized("address", "librustc-nightly_rt.asan.a", &what, &host, rest)
        }
        Tool::Thread => sanitized("thread", "librustc-nightly_rt.tsan.a", &threaded()?, &host, rest),
        Tool::Miri => miri(rest),
    }
}

fn wanted(found: &str) -> Failure {
    Failure(format!("sanitize takes address, thread or miri, not {found}: cargo xtask sanitize address"))
}

/// The nightly cargo. This program's own cargo names its toolchain in the environment, which would win.
fn nightly(program: &str) -> Command {
    let mut command = Command::new(program);
    command.arg("+nightly").current_dir(root());
    for variable in ["RUSTUP_TOOLCHAIN", "CARGO", "RUSTC", "RUSTDOC"] {
        command.env_remove(variable);
    }
    command
}

/// The target that the nightly toolchain builds for.
fn host() -> Result<String, Failure> {
    let about = capture(nightly("rustc").args(["--version", "--verbose"])).map_err(|Failure(detail)| {
        Failure(format!("{detail}\nthere is no nightly toolchain: rustup toolchain install nightly --profile minimal"))
    })?;
    let host = about.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| Failure("the nightly toolchain does not say what it builds for".to_owned()))
}

/// The tests of threads over a fake backend.
fn threaded() -> Result<Vec<String>, Failure> {
    let folder = root().join("crates").join(THREAD).join("tests");
    let entries = std::fs::read_dir(&folder).map_err(|error| Failure(format!("{}: {error}", folder.display())))?;
    let mut what = vec!["--package".to_owned(), package(THREAD), "--lib".to_owned()];
    for entry in entries.filter_map(Result::ok) {
        let name = entry.file_name().to_string_lossy().into_owned();
        if let Some(test) = name.strip_suffix(".rs").filter(|&test| test != FOREIGN) {
            what.extend(["--test".to_owned(), test.to_owned()]);
        }
    }
    Ok(what)
}

/// Builds tests with a sanitizer, in a target folder of their own, and runs them.
fn sanitized(name: &str, library: &str, what: &[String], host: &str, rest: &[String]) -> Result<(), Failure> {
    let onnxruntime = native::prepare()?;
    let sysroot = capture(nightly("rustc").args(["--print", "sysroot"]))?;
    let file = Path::new(sysroot.trim()).join("lib/rustlib").join(host).join("lib").join(library);
    if !file.is_file() {
        let file = file.display();
        return Err(Failure(format!("the nightly toolchain has no sanitizer '{name}' for {host}: there is no {file}")));
    }
    let mut tests = nightly("cargo");
    // With a target that is named, flags are for it alone: build scripts and macros run as they are.
    tests.args(["test", "--release", "--target", host]);
    if name == "thread" {
        // What the standard library does between threads would look like races if it were not seen.
        let source = Path::new(sysroot.trim()).join("lib/rustlib/src/rust/library");
        if !source.is_dir() {
            let remedy = "rustup component add rust-src --toolchain nightly";
            return Err(Failure(format!("the nightly toolchain has no source of the standard library: {remedy}")));
        }
        tests.arg("-Zbuild-std");
    }
    tests.args(what).args(rest);
    if !rest.iter().any(|argument| argument == "--") {
        tests.arg("--");
    }
    tests.args(UNSUITED.iter().flat_map(|name| ["--skip", name]));
    tests.env("CARGO_TARGET_DIR", target_folder().join("millstream/sanitize").join(name));
    tests.env("RUSTFLAGS", format!("-Zsanitizer={name}"));
    run(tests.envs(native::environment(onnxruntime)))
}

/// Interprets tests without foreign code.
fn miri(rest: &[String]) -> Result<(), Failure> {
    capture(nightly("cargo").args(["miri", "--version"])).map_err(|Failure(detail)| {
        Failure(format!(
            "{detail}\nthe nightly toolchain has no Miri: rustup component add miri rust-src --toolchain nightly"
        ))
    })?;
    let mut tests = nightly("cargo");
    tests.args(["miri", "test"]).args(MIRI).args(rest);
    tests.env("CARGO_TARGET_DIR", target_folder().join("millstream/sanitize/miri"));
    // Tests look at the clock, and at files of the system.
    run(tests.env("MIRIFLAGS", "-Zmiri-disable-isolation"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_told_with_what_is() {
        for arguments in [&[][..], &["memory".to_owned()]] {
            let Err(Failure(message)) = sanitize(arguments) else { panic!("{arguments:?} was taken") };
            assert!(message.contains("address, thread or miri"), "{message}");
        }
    }
}
