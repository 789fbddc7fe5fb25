//! Tools that are not part of Rust itself.

use std::process::Command;

use crate::command::{Failure, cargo, root, run};
use crate::native::target_folder;

/// The cargo-deny that is built where the machine has none; takes two to three minutes, once.
const CARGO_DENY: &str = "0.20.2";

/// Checks licences, duplicates and sources of all dependencies. Known vulnerabilities are checked where the advisory
/// database can be reached, which a workflow of its own does.
pub(crate) fn deny() -> Result<(), Failure> {
    let installed = cargo().args(["deny", "--version"]).output().is_ok_and(|output| output.status.success());
    let mut command = if installed {
        let mut command = cargo();
        command.arg("deny");
        command
    } else {
        let folder = target_folder().join("millstream/cargo-deny");
        let binary = folder.join("bin").join(format!("cargo-deny{}", std::env::consts::EXE_SUFFIX));
        if !binary.is_file() {
            eprintln!("building cargo-deny {CARGO_DENY} ...");
            let install =
                ["install", "cargo-deny", "--version", CARGO_DENY, "--locked", "--no-default-features", "--quiet"];
            run(cargo().args(install).arg("--root").arg(&folder))?;
        }
        let mut command = Command::new(binary);
        command.current_dir(root());
        command
    };
    run(command.args(["--log-level", "warn", "check", "bans", "licenses", "sources"]))
}
