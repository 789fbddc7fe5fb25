//! The licences of what is compiled into a wheel, which go to others with it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{Failure, capture};
use crate::cross::Target;
use crate::files::failed;
use crate::folders::root;
use crate::package::licences;

use super::place::SOURCE;

/// The page about crates. maturin takes all files whose names begin like this, as `pyproject.toml` says.
const CRATES: &str = "LICENSE-CRATES.html";
/// What the names of files about Rust's own library begin with.
const RUST: &str = "LICENSE-RUST-";

/// Files beside the package's source, for as long as it is built.
pub(super) struct Licences(Vec<PathBuf>);

impl Licences {
    /// Puts them there.
    pub(super) fn beside_the_source(target: Target) -> Result<Self, Failure> {
        let source = root().join(SOURCE);
        let rust = licences::of_rust(target)?;
        let entries = fs::read_dir(&rust).map_err(|error| failed(&rust, &error))?;
        let of_rust = entries.filter_map(Result::ok).map(|entry| {
            let name = format!("{RUST}{}", entry.file_name().to_string_lossy());
            (name, entry.path())
        });
        let crates = (CRATES.to_owned(), licences::page(target, "python")?);
        let mut placed = Self(Vec::new());
        for (name, file) in of_rust.chain([crates]) {
            let to = source.join(name);
            fs::copy(&file, &to).map_err(|error| failed(&file, &error))?;
            placed.0.push(to);
        }
        Ok(placed)
    }
}

impl Drop for Licences {
    fn drop(&mut self) {
        for file in &self.0 {
            if let Err(error) = fs::remove_file(file) {
                eprintln!("{} could not be removed: {error}", file.display());
            }
        }
    }
}

/// Fails if a wheel lacks one.
pub(super) fn check(wheel: &Path) -> Result<(), Failure> {
    let files = capture(Command::new("python3").args(["-m", "zipfile", "--list"]).arg(wheel))?;
    match missing(&files) {
        None => Ok(()),
        Some(name) => Err(Failure(format!("{} has no licence {name}:\n{files}", wheel.display()))),
    }
}

/// The first licence that is not among the files of a wheel.
fn missing(files: &str) -> Option<&'static str> {
    let wanted = ["LICENSE-APACHE", "LICENSE-MIT", CRATES, RUST];
    let is_there = |name: &str| files.contains(&format!(".dist-info/licenses/{name}"));
    wanted.into_iter().find(|name| !is_there(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_licence_that_is_missing_is_named() {
        let files = ["APACHE", "MIT", "CRATES.html", "RUST-COPYRIGHT.html"];
        let listed = |files: &[&str]| {
            files
                .iter()
                .map(|file| format!("millstream-0.1.0.dist-info/licenses/LICENSE-{file}  2026-01-01 8\n"))
                .collect::<String>()
        };
        assert_eq!(missing(&listed(&files)), None);
        assert_eq!(missing(&listed(&files[..3])), Some(RUST));
        assert_eq!(missing(&listed(&files[..2])), Some(CRATES));
    }
}
