//! Whether a tag, the version and the documents that name it belong together.

use std::fs;

use crate::command::{Failure, root};

/// The release, as the workspace has it.
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Where what the changelog says of the release is put.
const NOTES: &str = "target/release-notes.md";

/// Checks the tag of a release, and writes what the changelog says of it.
pub(crate) fn release(arguments: &[String]) -> Result<(), Failure> {
    let [tag] = arguments else {
        return Err(Failure("give the tag of the release: cargo xtask release v0.1.0".to_owned()));
    };
    if tag.strip_prefix('v') != Some(VERSION) {
        return Err(Failure(format!("the tag is {tag}, and the version in Cargo.toml {VERSION}")));
    }
    let changelog = read("CHANGELOG.md")?;
    let Some(section) = section(&changelog, VERSION) else {
        return Err(Failure(format!("CHANGELOG.md has no section `## [{VERSION}] - DATE`")));
    };
    if let Some(unreleased) = unreleased(&changelog) {
        let first = unreleased.lines().next().unwrap_or_default();
        return Err(Failure(format!("CHANGELOG.md has changes that are in no release: {first} ...")));
    }
    let citation = read("CITATION.cff")?;
    if !citation.lines().any(|line| line == format!("version: {VERSION}")) {
        return Err(Failure(format!("CITATION.cff has another version than {VERSION}")));
    }
    let date = date(&changelog, VERSION).unwrap_or_default();
    if !citation.lines().any(|line| line == format!("date-released: {date}")) {
        return Err(Failure(format!("CITATION.cff has another date than {date}, which CHANGELOG.md has")));
    }
    let notes = root().join(NOTES);
    fs::write(&notes, section).map_err(|error| Failure(format!("{}: {error}", notes.display())))?;
    println!("{}", notes.display());
    Ok(())
}

fn read(name: &str) -> Result<String, Failure> {
    fs::read_to_string(root().join(name)).map_err(|error| Failure(format!("{name}: {error}")))
}

/// What a changelog says of a release that has a date, without its heading.
fn section<'a>(changelog: &'a str, version: &str) -> Option<&'a str> {
    date(changelog, version)?;
    let (_, rest) = changelog.split_once(&format!("\n## [{version}] - "))?;
    let (_, rest) = rest.split_once('\n')?;
    let end = rest.find("\n## [").unwrap_or(rest.len());
    rest.get(..end).map(str::trim)
}

/// When a release was made, by a changelog.
fn date<'a>(changelog: &'a str, version: &str) -> Option<&'a str> {
    let (_, rest) = changelog.split_once(&format!("\n## [{version}] - "))?;
    let (date, _) = rest.split_once('\n')?;
    let is_date = date.len() == 10 && date.chars().all(|character| character.is_ascii_digit() || character == '-');
    is_date.then_some(date)
}

/// What a changelog says of changes that no release has; `None` if that is nothing.
fn unreleased(changelog: &str) -> Option<&str> {
    let (_, rest) = changelog.split_once("\n## [Unreleased]\n")?;
    let end = rest.find("\n## [").unwrap_or(rest.len());
    rest.get(..end).map(str::trim).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::{date, section, unreleased};

    #[test]
    fn a_release_has_a_section_with_a_date() {
        let changelog =
            "# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2026-12-01\n\n- b\n\n## [0.1.0] - 2026-11-23\n\n- a\n";
        assert_eq!(section(changelog, "0.2.0"), Some("- b"));
        assert_eq!(section(changelog, "0.1.0"), Some("- a"));
        assert_eq!(section(changelog, "0.3.0"), None);
        assert_eq!(date(changelog, "0.2.0"), Some("2026-12-01"));
        assert_eq!(unreleased(changelog), None);
        assert_eq!(unreleased("# Changelog\n\n## [Unreleased]\n\n- c\n\n## [0.1.0] - 2026-12-01\n"), Some("- c"));
        assert_eq!(unreleased("# Changelog\n\n## [0.1.0] - 2026-12-01\n\n- c\n"), None);
        assert_eq!(section("# Changelog\n\n## [0.1.0] - soon\n\n- a\n", "0.1.0"), None);
    }

    /// The version that is here is told of, in the changelog and for those who cite it.
    #[test]
    fn this_version_is_in_the_changelog() {
        let read = |name| super::read(name).unwrap_or_default();
        assert!(section(&read("CHANGELOG.md"), super::VERSION).is_some());
        let citation = read("CITATION.cff");
        assert!(citation.contains(&format!("\nversion: {}\n", super::VERSION)));
        let changelog = read("CHANGELOG.md");
        let date = date(&changelog, super::VERSION).unwrap_or_default();
        assert!(citation.contains(&format!("\ndate-released: {date}\n")), "{date}");
    }
}
