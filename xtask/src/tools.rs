//! Tools that are not part of Rust itself.

use std::process::Command;

use crate::command::{Failure, cargo, run};
use crate::folders::{root, target_folder};

/// The cargo-deny that is built where the machine has none; takes about a minute, once, since it is not optimised: it
/// has little to do.
const CARGO_DENY: &str = "0.20.2";

/// The cargo-mutants that is built where the machine has none; takes two to three minutes, once.
const CARGO_MUTANTS: &str = "27.1.0";

/// The cargo-about that is built where the machine has none; takes about five minutes, once.
pub(crate) const CARGO_ABOUT: &str = "0.9.3";

/// The cargo-semver-checks that is built where the machine has none; takes about ten minutes, once.
const CARGO_SEMVER_CHECKS: &str = "0.51.0";

/// Checks licences, duplicates and sources of all dependencies. Known vulnerabilities are checked where the advisory
/// database can be reached, which a workflow of its own does.
pub(crate) fn deny() -> Result<(), Failure> {
    let mut command = tool("deny", CARGO_DENY, &["--no-default-features", "--debug"])?;
    run(command.args(["--log-level", "warn", "check", "bans", "licenses", "sources"]))
}

/// The same for a workspace of its own, by its manifest: duplicates are its dependencies' business, licences and
/// sources are not.
pub(crate) fn deny_of(manifest: &str) -> Result<(), Failure> {
    let mut command = tool("deny", CARGO_DENY, &["--no-default-features"])?;
    run(command.args(["--log-level", "warn", "--manifest-path", manifest, "check", "licenses", "sources"]))
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

/// Where cargo writes down what it has installed into a folder.
const INSTALLED: &str = ".crates.toml";

/// Whether that list has a package in a version.
fn is_installed(list: &str, package: &str, version: &str) -> bool {
    list.lines().any(|line| line.starts_with(&format!("\"{package} {version} (")))
}

/// A command of cargo's that others wrote: the machine's own, else one of this version that is built here with these
/// options.
fn tool(name: &str, version: &str, options: &[&str]) -> Result<Command, Failure> {
    if cargo().args([name, "--version"]).output().is_ok_and(|output| output.status.success()) {
        let mut command = cargo();
        command.arg(name);
        return Ok(command);
    }
    let package = format!("cargo-{name}");
    let folder = target_folder().join("millstream").join(&package);
    let binary = folder.join("bin").join(format!("{package}{}", std::env::consts::EXE_SUFFIX));
    let is_this = |list: String| is_installed(&list, &package, version);
    if !binary.is_file() || !std::fs::read_to_string(folder.join(INSTALLED)).is_ok_and(is_this) {
        eprintln!("building {package} {version} ...");
        let install = ["install", &package, "--version", version, "--locked", "--quiet"];
        run(cargo().args(install).args(options).arg("--root").arg(&folder))?;
    }
    let mut command = Command::new(binary);
    command.arg(name).current_dir(root());
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::is_installed;

    #[test]
    fn a_tool_of_another_version_is_built_anew() {
        let list =
            "[v1]\n\"cargo-deny 0.20.2 (registry+https://github.com/rust-lang/crates.io-index)\" = [\"cargo-deny\"]\n";
        assert!(is_installed(list, "cargo-deny", "0.20.2"));
        for (package, version) in [("cargo-deny", "0.20.3"), ("cargo-deny", "0.20"), ("cargo-about", "0.20.2")] {
            assert!(!is_installed(list, package, version), "{package} {version}");
        }
    }
}
