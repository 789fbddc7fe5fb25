//! Pages that send their reader to a file: the file is there, and it defines what the page says it does.

use std::path::{Path, PathBuf};

use crate::command::Failure;
use crate::files::{below, read, shown};
use crate::folders::root;
use crate::pages;

/// Fails with the files that are not there, and with the names that are not defined where a page says.
pub(crate) fn check() -> Result<(), Failure> {
    let mut faults = Vec::new();
    for page in pages::all()? {
        let text = read(&page)?;
        let shown = shown(&page);
        for pointer in pointers(&text) {
            faults.extend(fault(&page, &pointer)?.map(|fault| format!("{shown}: {fault}")));
        }
    }
    if faults.is_empty() {
        return Ok(());
    }
    Err(Failure(format!("pages that send their reader to the wrong file:\n{}", faults.join("\n"))))
}

/// Files that a page names beside each other, and what it says they define.
#[derive(Debug, PartialEq)]
struct Pointer {
    files: Vec<String>,
    names: Vec<String>,
}

/// The pointers of a page: rows of tables that begin with files, names followed by a file, and files alone.
fn pointers(page: &str) -> Vec<Pointer> {
    let mut found = Vec::new();
    let mut paragraph = String::new();
    let mut is_code = false;
    for line in page.lines().chain([""]) {
        let line = line.trim();
        let is_fence = line.starts_with("```");
        is_code ^= is_fence;
        if is_code || is_fence {
            continue;
        }
        if line.is_empty() || line.starts_with(['|', '#']) {
            found.extend(in_prose(&paragraph));
            paragraph.clear();
        }
        match row(line) {
            Some(pointer) => found.push(pointer),
            None => paragraph += &format!("{line} "),
        }
    }
    found
}

/// A row whose first cell has files only, and the names in its second cell.
fn row(line: &str) -> Option<Pointer> {
    let mut cells = line.strip_prefix('|')?.split(" | ");
    let (first, second) = (cells.next()?, cells.next()?);
    let files: Vec<String> = spans(first).into_iter().map(|(span, _)| span.to_owned()).collect();
    if files.is_empty() || !files.iter().all(|file| is_file(file)) {
        return None;
    }
    let is_named = |(span, before): &(&str, &str)| is_name(span) && !before.ends_with("feature ");
    Some(Pointer {
        files,
        names: spans(second).into_iter().filter(is_named).map(|(span, _)| span.to_owned()).collect(),
    })
}

/// Names directly followed by their file, as in "`name` (`file`" or "`name` in `file`", and files without a name.
fn in_prose(text: &str) -> Vec<Pointer> {
    let spans = spans(text);
    let before = |place: usize| place.checked_sub(1).and_then(|place| spans.get(place)).map(|(span, _)| *span);
    let mut found = Vec::new();
    for (place, (file, between)) in spans.iter().enumerate().filter(|(_, (span, _))| is_file(span)) {
        let is_direct = between.ends_with(" (") && between.trim_start_matches('`') == " (" || *between == " in ";
        let name = before(place).filter(|name| is_direct && is_name(name));
        found.push(Pointer { files: vec![(*file).to_owned()], names: name.into_iter().map(str::to_owned).collect() });
    }
    found
}

/// The spans of code in a text, each with what stands between it and the one before.
fn spans(text: &str) -> Vec<(&str, &str)> {
    let pieces: Vec<&str> = text.split('`').collect();
    pieces.chunks(2).filter_map(|pair| Some((*pair.get(1)?, *pair.first()?))).collect()
}

/// Rust files of this workspace, unless part of the name is the reader's.
fn is_file(span: &str) -> bool {
    let is_placeholder = |part: &str| part.trim_end_matches(".rs").chars().all(char::is_uppercase);
    span.ends_with(".rs") && !span.contains(' ') && !span.contains("NAME") && !span.split('/').any(is_placeholder)
}

/// An item of Rust, maybe within another one.
fn is_name(span: &str) -> bool {
    let is_word = |word: &str| !word.is_empty() && word.chars().all(|letter| letter.is_alphanumeric() || letter == '_');
    span.split("::").all(is_word) && !span.chars().all(|letter| letter.is_uppercase() && letter.is_alphabetic())
}

fn fault(page: &Path, pointer: &Pointer) -> Result<Option<String>, Failure> {
    let mut sources = String::new();
    for file in &pointer.files {
        match find(page, file)?.as_slice() {
            [only] => sources += &read(only)?,
            [] => return Ok(Some(format!("there is no {file}"))),
            [one, other, ..] => {
                return Ok(Some(format!("{file} may be {} or {}: say more of its path", shown(one), shown(other))));
            }
        }
    }
    let missing = pointer.names.iter().find(|name| !defines(&sources, name));
    Ok(missing.map(|name| format!("{} does not define `{name}`", pointer.files.join(", "))))
}

/// The file of this path from the root or from the page's crate; otherwise, since a link may shorten it, every file of
/// the page's crate, or of all crates, whose path ends with it.
fn find(page: &Path, file: &str) -> Result<Vec<PathBuf>, Failure> {
    let crates = root().join("crates");
    let folder = page.strip_prefix(&crates).ok().and_then(|rest| rest.iter().next()).map(|name| crates.join(name));
    let mut places = folder.iter().map(|folder| folder.join(file)).chain([root().join(file)]);
    if let Some(path) = places.find(|path| path.is_file()) {
        return Ok(vec![path]);
    }
    Ok(below(&folder.unwrap_or(crates))?.into_iter().filter(|path| path.ends_with(file)).collect())
}

/// Whether a source has an item, a variant or a field of this name.
fn defines(source: &str, name: &str) -> bool {
    const ITEMS: [&str; 9] = ["fn", "struct", "enum", "trait", "const", "static", "type", "mod", "macro_rules!"];
    let last = name.rsplit("::").next().unwrap_or(name);
    let is_whole = |rest: &str| !rest.starts_with(|letter: char| letter.is_alphanumeric() || letter == '_');
    let follows = |before: &str| {
        source
            .match_indices(&format!("{before} {last}"))
            .any(|(place, found)| is_whole(source.get(place + found.len()..).unwrap_or_default()))
    };
    // A variant or a field of an item that is there.
    let is_member = || {
        let (of, _) = name.rsplit_once("::")?;
        let is_listed = |line: &str| line.trim().trim_start_matches("pub ").strip_prefix(last).is_some_and(is_whole);
        Some(defines(source, of) && source.lines().any(is_listed))
    };
    ITEMS.iter().any(|item| follows(item)) || is_member().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pointer(files: &[&str], names: &[&str]) -> Pointer {
        let owned = |all: &[&str]| all.iter().map(|&one| one.to_owned()).collect();
        Pointer { files: owned(files), names: owned(names) }
    }

    #[test]
    fn rows_and_prose_point_to_files() {
        let page = "| file | has |\n|---|---|\n| `src/a.rs`, `src/b.rs` | `One`, and `T::two`; without the feature `highs` |\n\n\
                    First `three` (`crates/c/src/d.rs`) works, as does `four` in\n`e.rs`. See `f.rs`.\n```sh\n`g.rs`\n```\n";
        let expected = [
            pointer(&["src/a.rs", "src/b.rs"], &["One", "T::two"]),
            pointer(&["crates/c/src/d.rs"], &["three"]),
            pointer(&["e.rs"], &["four"]),
            pointer(&["f.rs"], &[]),
        ];
        assert_eq!(pointers(page), expected);
    }

    #[test]
    fn items_are_found_where_they_are_defined() {
        let source = "pub(crate) fn quick() {}\nenum Way {\n    /// Doc.\n    Core,\n}\n";
        for (name, is_there) in [
            ("quick", true),
            ("qui", false),
            ("Way", true),
            ("Way::Core", true),
            ("Core", false),
            ("Way::ore", false),
            ("None::Core", false),
            ("Way::none", false),
        ] {
            assert_eq!(defines(source, name), is_there, "{name}");
        }
    }

    #[test]
    fn what_is_not_there_is_a_fault() -> Result<(), Failure> {
        let page = root().join("docs/architecture.md");
        let fault = |files: &[&str], names: &[&str]| fault(&page, &pointer(files, names));
        assert_eq!(fault(&["xtask/src/pointers.rs"], &["Pointer"])?, None);
        assert!(fault(&["xtask/src/pointers.rs"], &["Nothing"])?.is_some_and(|fault| fault.contains("`Nothing`")));
        assert!(fault(&["xtask/src/no_such.rs"], &[])?.is_some_and(|fault| fault.contains("no_such.rs")));
        // The end of a path is enough where only one file has it.
        assert_eq!(fault(&["published/heft.rs"], &["Heft"])?, None);
        assert!(fault(&["src/lib.rs"], &[])?.is_some_and(|fault| fault.contains("may be crates/api/src/lib.rs or ")));
        Ok(())
    }
}
