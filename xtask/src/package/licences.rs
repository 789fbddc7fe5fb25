//! The licences of what is compiled into the program.

use std::fs;
use std::path::Path;

use crate::command::{Failure, capture};
use crate::tools;

use super::failed;
use super::target::Target;

/// Writes a page with the text of every licence and what it is for. Fails on a licence that is not among those of `deny.toml`.
pub(super) fn write(target: Target, page: &Path) -> Result<(), Failure> {
    let mut about = tools::about()?;
    about.args(["generate", "--offline", "--fail", "--locked", "--target", &target.triple()]);
    about.args(["--config", "xtask/about/about.toml", "--manifest-path", "crates/cli/Cargo.toml"]);
    let text = capture(about.arg("xtask/about/page.hbs"))?;
    let parent = page.parent().unwrap_or(page);
    fs::create_dir_all(parent).and_then(|()| fs::write(page, text)).map_err(|error| failed(page, &error))
}
