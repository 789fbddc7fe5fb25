//! Whether the crates offer what their version promises, as cargo-semver-checks sees it.

use std::process::Command;

use crate::command::{Failure, capture, run};
use crate::folders::root;
use crate::{native, tools};

/// Compares with the last release. Before the first one there is nothing to compare with.
pub(crate) fn semver() -> Result<(), Failure> {
    let Some(release) = last_release()? else {
        println!("there is no release yet (no tag v* before this commit), so nothing was promised");
        return Ok(());
    };
    let library = native::prepare()?;
    println!("comparing with {release}");
    let mut compare = tools::semver_checks()?;
    compare.args(["check-release", "--workspace", "--baseline-rev", &release]).envs(native::environment(library));
    run(&mut compare)
}

/// The newest tag of a release among the ancestors of this commit, but not one of this commit itself.
fn last_release() -> Result<Option<String>, Failure> {
    let in_repository = |arguments: &[&str]| {
        let mut git = Command::new("git");
        capture(git.current_dir(root()).args(arguments))
    };
    let tags =
        in_repository(&["tag", "--list", "v*", "--merged", "HEAD", "--no-contains", "HEAD", "--sort=-v:refname"])?;
    // A clone that leaves history out could hide a release, which would look as if there were none.
    let is_shallow = in_repository(&["rev-parse", "--is-shallow-repository"])?.trim() == "true";
    if is_shallow && tags.is_empty() {
        return Err(Failure("the history is not all there: run `git fetch --unshallow --tags` first".to_owned()));
    }
    Ok(tags.lines().next().map(str::to_owned))
}
