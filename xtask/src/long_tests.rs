//! Tests that take minutes each: `test` has some of the same cases, these have all.

use std::collections::BTreeSet;

use crate::command::{Failure, cargo, run};
use crate::untested::Untested;
use crate::{conformance, native};

/// What a test says that is left out because of its time.
#[cfg(test)]
const REASON: &str = "takes minutes: `cargo xtask long-tests`";

/// The files of tests that have any, each after its package, which only the test below looks at.
const FILES: [(&str, &[&str]); 6] = [
    ("millstream-api", &["certificates", "memory"]),
    ("millstream", &["networks"]),
    ("millstream-backend-openvino", &["conformance"]),
    ("millstream-backend-wgpu", &["conformance"]),
    ("millstream-conformance", &["networks"]),
    ("millstream-runtime", &["networks"]),
];

/// Runs those that are marked as ignored. Arguments narrow them down as those of a test do. What could not be tested
/// here is said at the end.
pub(crate) fn long_tests(arguments: &[String]) -> Result<(), Failure> {
    let environment = native::environment(native::prepare()?);
    let models = conformance::prepare()?;
    let files: BTreeSet<&str> = FILES.iter().flat_map(|(_, files)| files.iter().copied()).collect();
    let mut tests = cargo();
    // Files of the same name in other packages have none: nothing is compiled with other features for a package's sake.
    tests.args(["test", "--release", "--workspace"]);
    tests.args(files.into_iter().flat_map(|file| ["--test", file]));
    tests.args(["--", "--ignored"]).args(arguments);
    let untested = Untested::new()?;
    let tested = run(untested.collect_from(tests.envs(environment).env("MILLSTREAM_NETWORKS", &models.networks)));
    untested.tell();
    tested?;
    if arguments.is_empty() { conformance::with_openvino("") } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::{FILES, REASON};
    use crate::command::{crates, package};
    use crate::folders::root;

    /// The text of a test, which is a file or a folder of them.
    fn text(path: &Path) -> String {
        if path.is_file() {
            return fs::read_to_string(path).unwrap_or_default();
        }
        let entries = fs::read_dir(path).into_iter().flatten().filter_map(Result::ok);
        entries.map(|entry| text(&entry.path())).collect()
    }

    #[test]
    fn every_test_that_takes_minutes_is_run() {
        let mut found = BTreeSet::new();
        for name in crates().unwrap_or_default() {
            let entries = fs::read_dir(root().join("crates").join(&name).join("tests")).into_iter().flatten();
            for entry in entries.filter_map(Result::ok) {
                if text(&entry.path()).contains(&format!("#[ignore = \"{REASON}\"]")) {
                    let file = entry.path().file_stem().map(|stem| stem.to_string_lossy().into_owned());
                    found.extend(file.map(|file| (package(&name), file)));
                }
            }
        }
        let known =
            FILES.iter().flat_map(|(package, files)| files.iter().map(|file| ((*package).into(), (*file).into())));
        assert_eq!(found, known.collect::<BTreeSet<(String, String)>>());
    }

    /// What is left out for another reason, nobody would run.
    #[test]
    fn nothing_else_is_ignored() {
        let known = [format!("#[ignore = \"{REASON}\"]"), "#[ignore = \"what the other tests start\"]".to_owned()];
        for name in crates().unwrap_or_default() {
            let all = ["src", "tests"].map(|folder| text(&root().join("crates").join(&name).join(folder))).concat();
            for line in all.lines().map(str::trim).filter(|line| line.starts_with("#[ignore")) {
                assert!(known.iter().any(|own| own == line), "{name}: {line}");
            }
        }
    }
}
