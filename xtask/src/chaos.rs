//! Faults and interleavings: the engine in a simulation in which one seed decides about threads, time and faults.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use crate::command::{Failure, cargo, run};
use crate::folders::target_folder;

/// The package of the simulation.
const PACKAGE: &str = "millstream-chaos";
/// What is asked of every change, within a minute: seeds, of a thousand frames each, and schedules of each model.
const SHORT: [u64; 2] = [500, 5_000];
/// Ten million frames with a hundred thousand faults and more, and a million schedules of each model.
const LONG: [u64; 2] = [12_500, 1_000_000];

/// Tells stories of faults and explores interleavings: the short form, the long one, or what the arguments say of one
/// of the two.
pub(crate) fn chaos(arguments: &[String]) -> Result<(), Failure> {
    let program = build()?;
    let with = |what: &str, options: &[&str]| {
        let mut command = Command::new(&program);
        command.arg(what).args(options);
        command
    };
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let [seeds, schedules] = match arguments.as_slice() {
        [] => SHORT,
        ["--long"] => LONG,
        own => {
            let is_model = own.contains(&"--model") || own.contains(&"--schedules");
            return run(&mut with(if is_model { "interleavings" } else { "stories" }, own));
        }
    };
    run(&mut with("stories", &["--seeds", &seeds.to_string()]))?;
    run(&mut with("interleavings", &["--schedules", &schedules.to_string()]))
}

/// Checks what only the simulation compiles.
pub(crate) fn lint() -> Result<(), Failure> {
    let clippy = ["clippy", "--release", "--package", "millstream-runtime", "--package", PACKAGE, "--lib", "--bins"];
    run(simulated(cargo().args(clippy).args(["--quiet", "--", "-D", "warnings"])))
}

/// Builds the program, apart from all else, since everything below it is compiled in another way.
fn build() -> Result<PathBuf, Failure> {
    run(simulated(cargo().args(["build", "--release", "--quiet", "--package", PACKAGE])))?;
    Ok(build_folder().join("release").join(format!("{PACKAGE}{}", std::env::consts::EXE_SUFFIX)))
}

/// Where all of it is compiled.
fn build_folder() -> PathBuf {
    target_folder().join("millstream/chaos")
}

/// With a model in place of threads, locks, channels and the clock.
fn simulated(command: &mut Command) -> &mut Command {
    let mut flags = std::env::var_os("RUSTFLAGS").unwrap_or_default();
    flags.push(OsString::from(" --cfg millstream_shuttle"));
    command.env("RUSTFLAGS", flags).env("CARGO_TARGET_DIR", build_folder())
}
