//! Names of public types: two crates of the workspace have none in common, so that a program imports both without
//! renaming.

use std::collections::{BTreeMap, BTreeSet};

use crate::command::{Failure, crates};
use crate::files::{read, sources};

/// Names of public types, and the crates that declare them.
type Declared = BTreeMap<String, BTreeSet<String>>;

/// Fails with the names that several crates gave to types.
pub(crate) fn check() -> Result<(), Failure> {
    let mut declared = Declared::new();
    for name in crates()? {
        for file in sources(&name)? {
            for own in types(&read(&file)?) {
                declared.entry(own.to_owned()).or_default().insert(name.clone());
            }
        }
    }

    let doubled = doubled(&declared);
    if doubled.is_empty() {
        return Ok(());
    }
    Err(Failure(format!(
        "public types of several crates have one name; give one of them another:\n{}",
        doubled.join("\n")
    )))
}

/// The public types that a file declares.
fn types(source: &str) -> Vec<&str> {
    source
        .lines()
        .filter_map(|line| {
            let rest = line.trim_start().strip_prefix("pub ")?;
            let (kind, rest) = rest.split_once(' ')?;
            let is_type = ["struct", "enum", "trait", "type", "union"].contains(&kind);
            let name = rest.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next()?;
            (is_type && !name.is_empty()).then_some(name)
        })
        .collect()
}

/// A line for each name that several crates declare.
fn doubled(declared: &Declared) -> Vec<String> {
    let several = declared.iter().filter(|(_, crates)| crates.len() > 1);
    several
        .map(|(name, crates)| format!("{name}: {}", crates.iter().map(String::as_str).collect::<Vec<_>>().join(", ")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{Declared, doubled, types};

    #[test]
    fn types_of_one_name_are_found() {
        let source = "pub struct Limits {\n    pub steps: u64,\n}\npub(crate) struct Own;\nstruct Inner;\npub fn limits() {}\npub \
                      enum Kind<'a> {\n    Name(&'a str),\n}\n    pub trait Mapper: Send {}\n";
        assert_eq!(types(source), ["Limits", "Kind", "Mapper"]);

        let mut declared = Declared::new();
        for (name, own) in [("mapping", "Limits"), ("api", "Limits"), ("api", "Share"), ("api", "Share")] {
            declared.entry(own.to_owned()).or_default().insert(name.to_owned());
        }
        assert_eq!(doubled(&declared), ["Limits: api, mapping"]);
    }
}
