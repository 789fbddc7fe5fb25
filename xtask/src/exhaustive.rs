//! Whether errors may grow: every public enum of errors is `#[non_exhaustive]`, and so are the options that others fill
//! in.

use crate::command::{Failure, crates};
use crate::files::{ending, read, shown};
use crate::folders::root;

/// Types whose names end so are options.
const OPTIONS: &str = "Options";

/// Fails with the types that are not marked.
pub(crate) fn check() -> Result<(), Failure> {
    let mut unmarked = Vec::new();
    for name in crates()? {
        let folder = root().join("crates").join(name).join("src");
        // Only libraries have users whose code a new variant breaks.
        let files = if folder.join("lib.rs").is_file() { ending(&folder, ".rs")? } else { Vec::new() };
        for file in files {
            let text = read(&file)?;
            let path = shown(&file);
            unmarked.extend(exhaustive(&text).into_iter().map(|name| format!("{path}: {name}")));
        }
    }
    if unmarked.is_empty() {
        return Ok(());
    }
    Err(Failure(format!("errors and options that will grow need `#[non_exhaustive]`:\n{}", unmarked.join("\n"))))
}

/// The public errors and options of a file that are not marked. A type's attributes stand in the lines before it.
fn exhaustive(source: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut attributes = String::new();
    for line in source.lines() {
        if line.starts_with("#[") || (!attributes.is_empty() && (line.starts_with("    ") || line.starts_with(")]"))) {
            attributes += line;
            continue;
        }
        let declared = line.strip_prefix("pub enum ").or_else(|| line.strip_prefix("pub struct "));
        if let Some(rest) = declared {
            let name = rest.split(|character: char| !character.is_alphanumeric()).next().unwrap_or(rest);
            let is_error = line.starts_with("pub enum ") && (name.ends_with("Error") || name.ends_with("ErrorKind"));
            let is_options = line.starts_with("pub struct ") && name.ends_with(OPTIONS) && line.ends_with('{');
            if (is_error || is_options) && !attributes.contains("non_exhaustive") {
                found.push(name.to_owned());
            }
        }
        if !line.starts_with("//") {
            attributes.clear();
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::exhaustive;

    #[test]
    fn errors_and_options_without_the_mark_are_found() {
        let marked = "#[derive(Debug)]\n#[non_exhaustive]\npub enum AError {\n}\n#[non_exhaustive]\npub struct ReadOptions {\n}\n";
        assert_eq!(exhaustive(marked), Vec::<String>::new());
        let unmarked = "#[derive(Debug)]\npub enum AError {\n}\n\npub struct ReadOptions {\n}\npub struct Other {\n}\n";
        assert_eq!(exhaustive(unmarked), ["AError", "ReadOptions"]);
        // The mark of one type says nothing of the next.
        let first = "#[non_exhaustive]\npub enum AError {\n}\npub enum BError {\n}\n";
        assert_eq!(exhaustive(first), ["BError"]);
    }
}
