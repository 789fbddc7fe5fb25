//! Circles: files of a crate that import each other in a loop, so that none of them can be read first.

mod code;
mod file;
mod modules;

use crate::circles::modules::Modules;
use crate::command::{Failure, crates, root};

/// The files that may: threads of an engine begin and supervise each other.
const KNOWN: [&str; 1] = ["runtime: dispatch, generation, led_team, replica_slot, team, worker"];

/// Fails with the circles that there are.
pub(crate) fn check() -> Result<(), Failure> {
    let mut found = Vec::new();
    for name in crates()? {
        let circles = Modules::read(&root().join("crates").join(&name).join("src"))?.circles();
        found.extend(circles.iter().map(|circle| format!("{name}: {}", circle.join(", "))));
    }

    let new: Vec<&String> = found.iter().filter(|circle| !KNOWN.contains(&circle.as_str())).collect();
    let gone: Vec<&str> = KNOWN.into_iter().filter(|known| !found.iter().any(|circle| circle == known)).collect();
    if !new.is_empty() {
        let lines = new.into_iter().map(String::as_str).collect::<Vec<_>>().join("\n");
        return Err(Failure(format!(
            "files import each other in a circle; move what ties them into a file of its own:\n{lines}"
        )));
    }
    if !gone.is_empty() {
        return Err(Failure(format!("these circles are gone, take them off the list:\n{}", gone.join("\n"))));
    }
    Ok(())
}
