//! The licences of what is compiled into the program.

use std::fs;
use std::path::{Path, PathBuf};

use crate::command::{Failure, capture, root};
use crate::cross::Target;
use crate::tools;

use super::{failed, folder};

/// What decides about the page.
const SOURCES: [&str; 3] = ["Cargo.lock", "xtask/about/about.toml", "xtask/about/page.hbs"];

/// A page with the text of every licence and what it is for; minutes of work, so it is kept while nothing is compiled that is new. Fails on a
/// licence that is not among those of `xtask/about/about.toml`.
pub(super) fn page(target: Target) -> Result<PathBuf, Failure> {
    let own = folder().join(target.name());
    let (page, stamp) = (own.join("crates.html"), own.join("crates.stamp"));
    let sources = SOURCES.iter().map(|name| read(&root().join(name))).collect::<Result<Vec<_>, _>>()?.concat();
    if page.is_file() && fs::read_to_string(&stamp).is_ok_and(|known| known == sources) {
        return Ok(page);
    }
    eprintln!("gathering licences, which takes minutes ...");
    let [_, config, template] = SOURCES;
    let mut about = tools::about()?;
    about.args(["generate", "--offline", "--fail", "--locked", "--target", &target.triple()]);
    about.args(["--config", config, "--manifest-path", "crates/cli/Cargo.toml", template]);
    let text = capture(&mut about)?;
    fs::write(&page, text).map_err(|error| failed(&page, &error))?;
    fs::write(&stamp, sources).map_err(|error| failed(&stamp, &error))?;
    Ok(page)
}

fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|error| failed(path, &error))
}
