//! Of which commit something was measured.

use std::process::Command;

use crate::command::{Failure, capture};
use crate::folders::root;

/// The commit in short, and whether the files differ from it. The file that the measurements are written to does not
/// count.
pub(crate) fn commit(written: &str) -> Result<String, Failure> {
    let git = |arguments: &[&str]| capture(Command::new("git").current_dir(root()).args(arguments));
    let commit = git(&["rev-parse", "--short", "HEAD"])?;
    let changes = git(&["status", "--porcelain", "--untracked-files=no", "--", ".", &format!(":!{written}")])?;
    let changed = if changes.trim().is_empty() { "" } else { " with changes" };
    Ok(format!("{}{changed}", commit.trim()))
}
