//! `crates/node`, which is a workspace of its own: it needs hundreds of packages that nobody else does. What the two
//! have in common is compiled once, in one folder.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::command::{Failure, cargo, run, run_forwarding};
use crate::folders::{root, target_folder};
use crate::python;
use crate::{native, tools};

/// The release of dora-rs; `crates/node/Cargo.toml` has the library of the same.
const DORA: (&str, &str, &str) = ("dora-rs-cli", "1.1.0", "bin/dora");
/// Where it is described.
pub(crate) const MANIFEST: &str = "crates/node/Cargo.toml";

/// The Python packages that are fetched here.
#[cfg(test)]
pub(crate) fn fetched() -> impl Iterator<Item = String> {
    std::iter::once(format!("{}=={}", DORA.0, DORA.1))
}

/// Builds the program and hands arguments on.
pub(crate) fn node(arguments: &[String]) -> Result<ExitCode, Failure> {
    let environment = built()?;
    run_forwarding(Command::new(program()).args(arguments).envs(environment))
}

/// Builds the program, for others who start it, and says where it and what it needs are.
pub(crate) fn built() -> Result<Vec<(&'static str, PathBuf)>, Failure> {
    let mut environment = environment()?;
    run(cargo_on_node("build", &["--quiet"]).envs(environment.clone()))?;
    environment.push(("MILLSTREAM_NODE", program()));
    Ok(environment)
}

fn program() -> PathBuf {
    target_folder().join("release").join(format!("millstream-node{}", std::env::consts::EXE_SUFFIX))
}

/// Runs its tests; arguments narrow them down.
pub(crate) fn test(arguments: &[String]) -> Result<(), Failure> {
    run(cargo_on_node("test", &[]).args(arguments).envs(environment()?))
}

/// Ends processes of hosts at random moments while frames flow.
pub(crate) fn soak(arguments: &[String]) -> Result<(), Failure> {
    run(cargo_on_node("run", &["--quiet", "--example", "soak", "--"]).args(arguments).envs(environment()?))
}

/// Formatting, lints, documentation and licences.
pub(crate) fn lint() -> Result<(), Failure> {
    run(cargo().args(["fmt", "--manifest-path", MANIFEST, "--check"]))?;
    let environment = environment()?;
    let warnings = ["--all-targets", "--quiet", "--", "-D", "warnings"];
    run(cargo_on_node("clippy", &warnings).envs(environment.clone()))?;
    let mut doc = cargo_on_node("doc", &["--no-deps", "--document-private-items", "--quiet"]);
    run(doc.env("RUSTDOCFLAGS", "-D warnings").envs(environment))?;
    tools::deny_of(MANIFEST)
}

fn cargo_on_node(verb: &str, options: &[&str]) -> Command {
    let mut command = cargo();
    command.args([verb, "--release", "--manifest-path", MANIFEST, "--target-dir"]);
    command.arg(target_folder()).args(options);
    command
}

/// What it and its tests need.
fn environment() -> Result<Vec<(&'static str, PathBuf)>, Failure> {
    let mut variables = native::environment(native::prepare()?);
    python::python_tool(DORA)?;
    let folder = root().join("target/millstream").join(DORA.0);
    variables.push(("MILLSTREAM_DORA", folder.join(DORA.2)));
    variables.push(("PYTHONPATH", python_path(&folder)));
    Ok(variables)
}

/// Where Python finds what dora-rs is made of, before whatever else the caller has.
fn python_path(folder: &Path) -> PathBuf {
    let others = std::env::var_os("PYTHONPATH").unwrap_or_default();
    let all = std::iter::once(folder.to_owned()).chain(std::env::split_paths(&others));
    std::env::join_paths(all).map_or_else(|_| folder.to_owned(), PathBuf::from)
}
