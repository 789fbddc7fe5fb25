//! Circles: files of a crate that import each other in a loop, so that none of them can be read first.

mod code;
mod file;
mod modules;

use crate::circles::modules::Modules;
use crate::command::{Failure, crates, root};

/// Fails with the circles that there are.
pub(crate) fn check() -> Result<(), Failure> {
    let mut found = Vec::new();
    for name in crates()? {
        let circles = Modules::read(&root().join("crates").join(&name).join("src"))?.circles();
        found.extend(circles.iter().map(|circle| format!("{name}: {}", circle.join(", "))));
    }

    if found.is_empty() {
        return Ok(());
    }
    Err(Failure(format!(
        "files import each other in a circle; move what ties them into a file of its own:\n{}",
        found.join("\n")
    )))
}
