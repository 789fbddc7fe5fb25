//! Heads of files: every source file begins with a sentence that says what it is.

use crate::command::{Failure, crates};
use crate::files::{ending, read};
use crate::folders::root;

/// Fails with the files that begin with something else.
pub(crate) fn check() -> Result<(), Failure> {
    let folders = crates()?.into_iter().map(|name| root().join("crates").join(name).join("src"));
    let folders = folders.chain(["xtask/src", "fuzz/src"].map(|folder| root().join(folder)));
    let mut headless = Vec::new();
    for folder in folders {
        for file in ending(&folder, ".rs")? {
            if !read(&file)?.starts_with("//! ") {
                headless.push(file.strip_prefix(root()).unwrap_or(&file).display().to_string());
            }
        }
    }

    if headless.is_empty() {
        return Ok(());
    }
    Err(Failure(format!("these files need a head, `//! ...`, that says what they are:\n{}", headless.join("\n"))))
}
