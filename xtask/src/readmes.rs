//! The README of each crate, made of its front page.

use std::fs;
use std::path::PathBuf;

use crate::command::{Failure, crates, package};
use crate::folders::root;

/// Crates whose README is written by hand.
const OWN: [&str; 2] = ["c-api", "python"];
const END: &str = "Part of Millstream, which runs ONNX networks on all of a board's processors at once.

Licensed under either of [Apache License 2.0](LICENSE-APACHE) or [MIT license](LICENSE-MIT), at your option.
";

/// Writes them all.
pub(crate) fn write() -> Result<(), Failure> {
    for (path, text) in all()? {
        fs::write(&path, text).map_err(|error| Failure(format!("{}: {error}", path.display())))?;
    }
    Ok(())
}

/// Whether they are up to date, and the texts of the licences are beside them.
pub(crate) fn check() -> Result<(), Failure> {
    for (path, expected) in all()? {
        if fs::read_to_string(&path).ok().as_deref() != Some(expected.as_str()) {
            return Err(Failure(format!("{} is out of date; run `cargo xtask readmes`", path.display())));
        }
        for name in ["LICENSE-APACHE", "LICENSE-MIT"] {
            if !path.with_file_name(name).is_file() {
                return Err(Failure(format!("there is no {name} beside {}", path.display())));
            }
        }
    }
    Ok(())
}

/// Each README's file and text.
fn all() -> Result<Vec<(PathBuf, String)>, Failure> {
    let names = crates()?;
    let made = names.iter().filter(|name| !OWN.contains(&name.as_str()));
    made.map(|name| {
        let folder = root().join("crates").join(name);
        let library = folder.join("src/lib.rs");
        let source = if library.is_file() { library } else { folder.join("src/main.rs") };
        let text = fs::read_to_string(&source).map_err(|error| Failure(format!("{}: {error}", source.display())))?;
        Ok((folder.join("README.md"), format!("# {}\n\n{}\n{END}", package(name), front_page(&text))))
    })
    .collect()
}

/// The documentation at the top of a file as plain Markdown: without what only rustdoc knows, hidden lines of examples
/// and links to items.
fn front_page(source: &str) -> String {
    let mut page = String::new();
    let mut is_code = false;
    for line in source.lines().map_while(|line| line.strip_prefix("//!")) {
        let line = line.strip_prefix(' ').unwrap_or(line);
        if let Some(language) = line.strip_prefix("```") {
            is_code = !is_code;
            let is_rust = is_code && language != "text";
            page += &format!("```{}\n", if is_rust { "rust" } else { language });
        } else if is_code {
            let is_hidden = line == "#" || line.starts_with("# ");
            page += &if is_hidden { String::new() } else { format!("{line}\n") };
        } else {
            page += &format!("{}\n", without_item_links(line));
        }
    }
    page
}

/// Links to items become their texts; those to pages stay.
fn without_item_links(line: &str) -> String {
    let mut made = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once('[') {
        made += before;
        let Some((text, after)) = after.split_once(']') else {
            return made + "[" + after;
        };
        let target = after.strip_prefix('(').and_then(|after| after.split_once(')'));
        rest = match target {
            Some((target, behind)) if target.contains("://") => {
                made += &format!("[{text}]({target})");
                behind
            }
            Some((_, behind)) => {
                made += text;
                behind
            }
            None if text.starts_with('`') => {
                made += text;
                after
            }
            None => {
                made += &format!("[{text}]");
                after
            }
        };
    }
    made + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_to_items_become_their_texts() {
        let line = "[`Board`] and [`Schedule::evaluate`](millstream_schedule::Schedule::evaluate), [HiGHS](https://highs.dev), a[0]";
        assert_eq!(without_item_links(line), "`Board` and `Schedule::evaluate`, [HiGHS](https://highs.dev), a[0]");
    }

    #[test]
    fn hidden_lines_stay_hidden() {
        let source = "//! What it is.\n//!\n//! ```no_run\n//! # use a::B;\n//! let x = 1;\n//! #[derive(Debug)]\n//! # Ok(())\n//! ```\n\nmod a;\n";
        assert_eq!(front_page(source), "What it is.\n\n```rust\nlet x = 1;\n#[derive(Debug)]\n```\n");
    }
}
