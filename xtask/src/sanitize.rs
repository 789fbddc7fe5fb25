//! Tests under tools that see what tests do not: AddressSanitizer, ThreadSanitizer, Miri.
//!
//! All of them need a nightly toolchain. The sanitizers see our code and its dependencies; ONNX Runtime is a finished library, whose own
//! reads and writes stay unseen, but memory that it is given or gives back is watched at the border, through the allocator.

use std::path::Path;
use std::process::Command;

use crate::command::{Failure, capture, root, run};
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
/// What has threads of its own. With a fake backend: threads of ONNX Runtime are not seen, and would look like races.
const THREAD: &[&str] = &["--package", "millstream-runtime", "--lib", "--tests"];
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
        Tool::Address => sanitized("address", "librustc-nightly_rt.asan.a", ADDRESS, &host, rest),
        Tool::Thread => sanitized("thread", "librustc-nightly_rt.tsan.a", THREAD, &host, rest),
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

/// Builds tests with a sanitizer, in a target folder of their own, and runs them.
fn sanitized(name: &str, library: &str, what: &[&str], host: &str, rest: &[String]) -> Result<(), Failure> {
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
    // What is freed is kept for a while, to notice who still uses it.
    tests.args(["--skip", "memory_does_not_grow"]);
    tests.env("CARGO_TARGET_DIR", native::target_folder().join("millstream/sanitize").join(name));
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
    tests.env("CARGO_TARGET_DIR", native::target_folder().join("millstream/sanitize/miri"));
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
