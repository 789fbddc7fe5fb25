//! What is not tested where something that it needs is missing, said so that `cargo xtask test` can list it.

use std::ffi::OsStr;
use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::Write;

/// Names the file that collects what is not tested: a line for each test, with tabs between what is missing, the test,
/// and the reason.
pub const UNTESTED: &str = "MILLSTREAM_UNTESTED";

/// Says that the running test ends early, because something that it needs is missing: `GPU`, `BROWSER` and the like.
///
/// # Panics
/// If the environment says that it is needed, as `MILLSTREAM_NEEDS_GPU=1` does; or if the file of [`UNTESTED`] can't be
/// written.
#[allow(clippy::print_stderr, reason = "whoever runs the test alone has no list")]
pub fn not_tested(missing: &str, reason: impl Display) {
    let needed = format!("MILLSTREAM_NEEDS_{missing}");
    let is_needed = std::env::var_os(&needed).is_some_and(|value| !value.is_empty());
    assert!(!is_needed, "{needed} is set, and {reason}");
    eprintln!("not tested: {reason}; with {needed}=1 that would be a failure");
    if let Some(file) = std::env::var_os(UNTESTED) {
        let line = format!("{missing}\t{}\t{}\n", running_test(), reason.to_string().replace(['\n', '\t'], " "));
        add(&file, &line).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    }
}

/// The test's program and name; each runs in a thread of its name.
fn running_test() -> String {
    let program = std::env::current_exe().ok();
    let stem = program.as_deref().and_then(|program| program.file_stem()).map(OsStr::to_string_lossy);
    // Behind the last hyphen, cargo puts what tells one build from another.
    let program = stem.as_deref().and_then(|stem| stem.rsplit_once('-')).map_or("test", |(name, _)| name);
    format!("{program}::{}", std::thread::current().name().unwrap_or("main"))
}

/// Adds a line with one call, so that those of tests beside each other stay whole.
fn add(file: &OsStr, line: &str) -> std::io::Result<()> {
    OpenOptions::new().create(true).append(true).open(file)?.write_all(line.as_bytes())
}
