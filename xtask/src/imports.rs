//! Imports within a crate: a file imports from the file that defines, not from what the crate's front page exports, so
//! that what depends on what can be read from its first lines.

use std::path::Path;

use crate::command::{Failure, crates};
use crate::files::{read, shown, sources};

/// Fails with imports that go through a crate's front page.
pub(crate) fn check() -> Result<(), Failure> {
    let mut found = Vec::new();
    for name in crates()? {
        let (front_pages, others): (Vec<_>, Vec<_>) = sources(&name)?.into_iter().partition(|file| is_front_page(file));
        let front_pages = front_pages.iter().map(|file| read(file)).collect::<Result<Vec<_>, _>>()?.concat();
        for file in others {
            let shown = shown(&file);
            let source = read(&file)?;
            let through = imported(&source).into_iter().filter(|name| !is_defined(&front_pages, name));
            found.extend(through.map(|name| format!("{shown}: {name}")));
        }
    }

    if found.is_empty() {
        return Ok(());
    }
    Err(Failure(format!("import these from the files that define them:\n{}", found.join("\n"))))
}

fn is_front_page(file: &Path) -> bool {
    file.ends_with("src/lib.rs") || file.ends_with("src/main.rs")
}

/// Whether a front page defines what it exports under this name, or has a module of this name.
fn is_defined(front_pages: &str, name: &str) -> bool {
    let words: Vec<&str> =
        front_pages.split(|letter: char| !letter.is_alphanumeric() && letter != '_' && letter != '/').collect();
    let kinds = ["mod", "trait", "struct", "enum", "const", "fn", "type", "static"];
    words.windows(2).any(|pair| kinds.contains(&pair[0]) && pair[1] == name)
}

/// The names that a file imports from its crate's root itself. Of lists in braces, only those by themselves count: the
/// others are in modules.
fn imported(source: &str) -> Vec<&str> {
    let starts = source.match_indices("use crate::").filter(|(place, _)| {
        let line = source[..*place].rsplit('\n').next().unwrap_or_default().trim();
        line.is_empty() || line.starts_with("pub")
    });
    let paths = starts.filter_map(|(place, start)| source[place + start.len()..].split_once(';'));
    let is_name =
        |name: &&str| !name.is_empty() && name.chars().all(|letter| letter.is_alphanumeric() || letter == '_');
    paths.flat_map(|(path, _)| entries(path)).filter(is_name).collect()
}

/// What a list in braces has, without what is in braces of its own; or the path itself.
fn entries(path: &str) -> Vec<&str> {
    let Some(list) = path.strip_prefix('{').and_then(|list| list.strip_suffix('}')) else { return vec![path] };
    let mut depth = 0;
    let ends_entry = |letter: char| {
        depth += i32::from(letter == '{') - i32::from(letter == '}');
        letter == ',' && depth == 0
    };
    list.split(ends_entry).map(str::trim).collect()
}

#[cfg(test)]
mod tests {
    use super::{imported, is_defined};

    #[test]
    fn what_is_imported_from_the_root_is_found() {
        let source = "use crate::plan::Plan;\nuse crate::Problem;\n// use crate::Word;\nuse crate::{\n    front::Front, ways, plan::{Plan, Cut, Set}, Share,\n};\nuse crate::front::{Front, Search};\n";
        assert_eq!(imported(source), ["Problem", "ways", "Share"]);
    }

    #[test]
    fn what_the_front_page_defines_is_no_detour() {
        let page = "//! trait Word\nmod ways;\npub trait Tuner {}\npub use plan::Plan;\n";
        assert!(is_defined(page, "ways") && is_defined(page, "Tuner") && !is_defined(page, "Plan"));
    }
}
