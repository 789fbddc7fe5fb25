//! What works with features left out: searches without the solver HiGHS, and then without anything in C or C++; the
//! front door and the command without one of their engines, or without any.

use std::path::Path;

use crate::command::{Failure, capture, cargo, run};
use crate::native::{self, environment};

const CRATES: [&str; 6] =
    ["--package", "millstream-mapping", "--package", "millstream-pipeline", "--package", "millstream-tune"];

/// What is on with each feature left out alone, and with all left out.
const LEFT_OUT: [&str; 5] = ["openvino,ort,wgpu", "highs,openvino,wgpu", "highs,openvino,ort", "highs,ort,wgpu", ""];

const TEST: [&str; 3] = ["test", "--release", "--no-default-features"];
const CLIPPY: [&str; 5] = ["clippy", "--release", "--no-default-features", "--all-targets", "--quiet"];

/// Runs the tests of searches without the solver. Those of the front door and the command with features left out are
/// for [`features`], since all is compiled anew each time.
pub(crate) fn test() -> Result<(), Failure> {
    run(cargo().args(TEST).args(CRATES))
}

/// Lints the front door and the command with each feature left out, and runs the tests that are about it.
pub(crate) fn features() -> Result<(), Failure> {
    let library = native::prepare()?;
    LEFT_OUT.iter().try_for_each(|features| lint_with(features))?;
    let library_alone = ["--package", "millstream", "--lib", "--quiet", "--", "-D", "warnings"];
    run(cargo().args(["clippy", "--release", "--no-default-features"]).args(library_alone))?;
    LEFT_OUT.iter().try_for_each(|features| test_with(features, &library))
}

fn test_with(features: &str, library: &Path) -> Result<(), Failure> {
    let front = ["--package", "millstream-api", "--features", features];
    run(cargo().args(TEST).args(front).envs(environment(library.to_owned())))?;
    let command =
        ["--package", "millstream", "--test", "features_left_out", "--features", "command", "--features", features];
    run(cargo().args(TEST).args(command).envs(environment(library.to_owned())))
}

/// Lints with features left out, and looks at what the searches need then.
pub(crate) fn lint() -> Result<(), Failure> {
    run(cargo().args(CLIPPY).args(CRATES).args(["--", "-D", "warnings"]))?;
    lint_with("")?;
    let tree = ["tree", "--no-default-features", "--edges", "normal,build", "--prefix", "none"];
    let tree = capture(cargo().args(tree).args(CRATES))?;
    match native_packages(&tree) {
        found if found.is_empty() => Ok(()),
        found => Err(Failure(format!("without the feature `highs`, {CRATES:?} still need {}", found.join(", ")))),
    }
}

fn lint_with(features: &str) -> Result<(), Failure> {
    let front = ["--package", "millstream-api", "--package", "millstream", "--features", features];
    run(cargo().args(CLIPPY).args(front).args(["--features", "millstream/command", "--", "-D", "warnings"]))
}

/// Named as if they were native, but tables in Rust.
const PURE: [&str; 2] = ["dirs-sys", "linux-raw-sys"];

/// Packages in a list that bind or build native code.
pub(crate) fn native_packages(tree: &str) -> Vec<&str> {
    let names = tree.lines().filter_map(|line| line.split(' ').next());
    let mut found: Vec<&str> = names
        .filter(|name| !PURE.contains(name))
        .filter(|name| name.ends_with("-sys") || ["bindgen", "cc", "cmake", "pkg-config", "vcpkg"].contains(name))
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::native_packages;

    #[test]
    fn native_packages_are_found() {
        let tree =
            "rand v0.10.3\nhighs v2.4.0\nhighs-sys v1.15.0\nccc v1.0.0\ncc v1.11.1\ncc v1.11.1 (*)\n\nlibc v0.2.186\n";
        assert_eq!(native_packages(tree), ["cc", "highs-sys"]);
    }
}
