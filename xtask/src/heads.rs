//! Heads of files: every source file begins with a sentence that says what it is.

use crate::command::{Failure, crates};
use crate::files::{ending, read, shown, sources};
use crate::folders::root;

/// Fails with the files that begin with something else.
pub(crate) fn check() -> Result<(), Failure> {
    let mut files = crates()?.iter().map(|name| sources(name)).collect::<Result<Vec<_>, _>>()?.concat();
    for folder in ["xtask/src", "fuzz/src"] {
        files.extend(ending(&root().join(folder), ".rs")?);
    }

    let mut headless = Vec::new();
    for file in files {
        if !read(&file)?.starts_with("//! ") {
            headless.push(shown(&file));
        }
    }

    if headless.is_empty() {
        return Ok(());
    }
    Err(Failure(format!("these files need a head, `//! ...`, that says what they are:\n{}", headless.join("\n"))))
}
