//! The pages that people read.

use std::fs;
use std::path::PathBuf;

use crate::command::{Failure, crates};
use crate::folders::root;

/// Pages at the root of the repository.
const AT_THE_ROOT: [&str; 4] = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "CITATION.cff"];

/// Those at the root, those of `docs`, and each crate's front page and pages, sorted.
pub(crate) fn all() -> Result<Vec<PathBuf>, Failure> {
    let mut pages: Vec<PathBuf> = AT_THE_ROOT.iter().map(|name| root().join(name)).collect();
    let mut folders = vec![root().join("docs")];
    for name in crates()? {
        let folder = root().join("crates").join(name);
        pages.extend(Some(folder.join("README.md")).filter(|page| page.is_file()));
        folders.push(folder.join("docs"));
    }

    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for path in entries.filter_map(Result::ok).map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    Ok(pages)
}
