//! Circles: files of a crate, or of this program, that import each other in a loop, so that none of them can be read
//! first; and folders that do. A crate may have its folders in a table on its front page: files then use none of the
//! rows below.

mod code;
mod file;
mod modules;
mod order;

use crate::circles::modules::Modules;
use crate::command::{Failure, crates};
use crate::files::read;
use crate::folders::root;

/// Crates whose folders are in circles although their files are not, as yet.
const UNORDERED: [&str; 3] = ["crates/c-api", "crates/predict", "crates/runtime"];

/// Fails with the circles that there are.
pub(crate) fn check() -> Result<(), Failure> {
    let (mut of_files, mut of_folders, mut against_tables) = (Vec::new(), Vec::new(), Vec::new());
    let crates = crates()?.into_iter().map(|name| format!("crates/{name}"));
    for name in crates.chain(["xtask".to_owned()]) {
        let source = root().join(&name).join("src");
        let modules = Modules::read(&source)?;
        let shown = |circle: &Vec<String>| format!("{name}: {}", circle.join(", "));
        of_files.extend(modules.circles().iter().map(shown));
        let circles = modules.folder_circles();
        match UNORDERED.contains(&name.as_str()) {
            true if circles.is_empty() => of_folders.push(format!("{name} has none by now: take it off the list here")),
            true => {}
            false => of_folders.extend(circles.iter().map(shown)),
        }
        let front = source.join("lib.rs");
        let front = if front.is_file() { read(&front)? } else { String::new() };
        against_tables.extend(order::faults(&front, &modules).iter().map(|fault| format!("{name}: {fault}")));
    }

    let advice = "move what ties them into a file of its own";
    let circle = |of: &str| format!("{of} import each other in a circle; {advice}");
    told(&circle("files"), &of_files)?;
    told(&circle("folders"), &of_folders)?;
    told("files do not keep to the order of the folders on their crate's front page", &against_tables)
}

/// Fails if anything was found.
fn told(what: &str, found: &[String]) -> Result<(), Failure> {
    if found.is_empty() { Ok(()) } else { Err(Failure(format!("{what}:\n{}", found.join("\n")))) }
}
