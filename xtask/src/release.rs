//! Whether a tag, the version and the documents that name it belong together.

use std::fs;

use crate::command::Failure;
use crate::files::{failed, read};
use crate::folders::root;

/// The release, as the workspace has it.
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Where what the changelog says of the release is put.
const NOTES: &str = "target/release-notes.md";

/// Checks the tag of a release, and writes what the changelog says of it.
pub(crate) fn release(arguments: &[String]) -> Result<(), Failure> {
    let [tag] = arguments else {
        return Err(Failure("give the tag of the release: cargo xtask release v0.1.0".to_owned()));
    };
    let changelog = read(&root().join("CHANGELOG.md"))?;
    let citation = read(&root().join("CITATION.cff"))?;
    if let Some(problem) = problem(tag, VERSION, &changelog, &citation) {
        return Err(Failure(problem));
    }
    let notes = root().join(NOTES);
    let section = section(&changelog, VERSION).unwrap_or_default();
    fs::write(&notes, section).map_err(|error| failed(&notes, &error))?;
    println!("{}", notes.display());
    Ok(())
}

/// What does not belong together of a tag, the version, a changelog and what those read who cite the program.
fn problem(tag: &str, version: &str, changelog: &str, citation: &str) -> Option<String> {
    let says = |line: &str| citation.lines().any(|own| own == line);
    if tag.strip_prefix('v') != Some(version) {
        return Some(format!("the tag is {tag}, and the version in Cargo.toml {version}"));
    }
    let Some(date) = section(changelog, version).and_then(|_| date(changelog, version)) else {
        return Some(format!("CHANGELOG.md has no section `## [{version}] - DATE`"));
    };
    if let Some(unreleased) = unreleased(changelog) {
        let first = unreleased.lines().next().unwrap_or_default();
        return Some(format!("CHANGELOG.md has changes that are in no release: {first} ..."));
    }
    if !says(&format!("version: {version}")) {
        return Some(format!("CITATION.cff has another version than {version}"));
    }
    (!says(&format!("date-released: {date}")))
        .then(|| format!("CITATION.cff has another date than {date}, which CHANGELOG.md has"))
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
    use super::*;

    #[test]
    fn what_does_not_belong_together_is_said() {
        let changelog = "# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2026-12-01\n\n- b\n";
        let citation = "cff-version: 1.2.0\nversion: 0.2.0\ndate-released: 2026-12-01\n";
        let told = |tag: &str, changelog: &str, citation: &str| problem(tag, "0.2.0", changelog, citation);
        assert_eq!(told("v0.2.0", changelog, citation), None);
        for (tag, changelog, citation, fault) in [
            ("v0.2.1", changelog, citation, "the tag is v0.2.1"),
            ("0.2.0", changelog, citation, "the tag is 0.2.0"),
            ("v0.2.0", &changelog.replace("0.2.0", "0.1.0"), citation, "no section `## [0.2.0]"),
            ("v0.2.0", &changelog.replace("2026-12-01", "soon"), citation, "no section `## [0.2.0]"),
            ("v0.2.0", &changelog.replace("[Unreleased]\n", "[Unreleased]\n\n- c\n"), citation, "in no release: - c"),
            ("v0.2.0", changelog, &citation.replace("n: 0.2.0", "n: 0.1.0"), "another version than 0.2.0"),
            ("v0.2.0", changelog, &citation.replace("-12-01", "-12-02"), "another date than 2026-12-01"),
        ] {
            assert!(told(tag, changelog, citation).is_some_and(|told| told.contains(fault)), "{fault}");
        }
    }

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
        let read = |name| read(&root().join(name)).unwrap_or_default();
        assert!(read("CHANGELOG.md").contains(&format!("\n## [{}] - ", super::VERSION)));
        let citation = read("CITATION.cff");
        assert!(citation.contains(&format!("\nversion: {}\n", super::VERSION)));
        let changelog = read("CHANGELOG.md");
        // A version that is not released yet has a date in neither.
        match date(&changelog, super::VERSION) {
            Some(date) => assert!(citation.contains(&format!("\ndate-released: {date}\n")), "{date}"),
            None => assert!(!citation.contains("date-released")),
        }
    }
}
