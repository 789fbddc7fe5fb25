//! Tools that are not part of Rust itself.

use std::process::Command;

use crate::command::{Failure, cargo, root, run};
use crate::native::target_folder;

/// The cargo-deny that is built where the machine has none; takes about a minute, once, since it is not optimised: it has little to do.
const CARGO_DENY: &str = "0.20.2";

/// The cargo-mutants that is built where the machine has none; takes two to three minutes, once.
const CARGO_MUTANTS: &str = "27.1.0";

/// The cargo-about that is built where the machine has none; takes about five minutes, once.
const CARGO_ABOUT: &str = "0.9.3";

/// The cargo-semver-checks that is built where the machine has none; takes about ten minutes, once.
const CARGO_SEMVER_CHECKS: &str = "0.51.0";

/// Checks licences, duplicates and sources of all dependencies. Known vulnerabilities are checked where the advisory
/// database can be reached, which a workflow of its own does.
pub(crate) fn deny() -> Result<(), Failure> {
    let mut command = tool("deny", CARGO_DENY, &["--no-default-features", "--debug"])?;
    run(command.args(["--log-level", "warn", "check", "bans", "licenses", "sources"]))
}

/// Puts faults into the code and runs tests, with the arguments that the caller adds.
pub(crate) fn mutants() -> Result<Command, Failure> {
    tool("mutants", CARGO_MUTANTS, &[])
}

/// Compares what crates offer with what they offered, with the arguments that the caller adds.
pub(crate) fn semver_checks() -> Result<Command, Failure> {
    tool("semver-checks", CARGO_SEMVER_CHECKS, &[])
}

/// Gathers licences, with the arguments that the caller adds.
pub(crate) fn about() -> Result<Command, Failure> {
    tool("about", CARGO_ABOUT, &["--features", "cli"])
}

/// A command of cargo's that others wrote: the machine's own, else one of this version that is built here with these options.
fn tool(name: &str, version: &str, options: &[&str]) -> Result<Command, Failure> {
    if cargo().args([name, "--version"]).output().is_ok_and(|output| output.status.success()) {
        let mut command = cargo();
        command.arg(name);
        return Ok(command);
    }
    let package = format!("cargo-{name}");
    let folder = target_folder().join("millstream").join(&package);
    let binary = folder.join("bin").join(format!("{package}{}", std::env::consts::EXE_SUFFIX));
    if !binary.is_file() {
        eprintln!("building {package} {version} ...");
        let install = ["install", &package, "--version", version, "--locked", "--quiet"];
        run(cargo().args(install).args(options).arg("--root").arg(&folder))?;
    }
    let mut command = Command::new(binary);
    command.arg(name).current_dir(root());
    Ok(command)
}
