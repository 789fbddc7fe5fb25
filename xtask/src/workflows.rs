//! Workflows of GitHub, which nothing else here reads.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;

use crate::folders::root;
use crate::verbs;

/// The lines of all workflows without what they are indented by, each behind the name of its file.
fn lines() -> Vec<(String, String)> {
    let files = fs::read_dir(root().join(".github/workflows")).unwrap().map(|entry| entry.unwrap().path());
    let in_file = |path: std::path::PathBuf| {
        let (name, text) =
            (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read_to_string(path).unwrap());
        text.lines().map(|line| (name.clone(), line.trim().trim_start_matches("- ").to_owned())).collect::<Vec<_>>()
    };
    files.flat_map(in_file).collect()
}

/// Whoever owns an action can move its tags and branches, but not its commits. The comment is what Dependabot goes by.
#[test]
fn actions_are_of_one_commit() {
    let mut seen = 0;
    for (file, line) in lines() {
        let Some(action) = line.strip_prefix("uses: ") else { continue };
        let is_pinned = action.split_once('@').and_then(|(_, version)| version.split_once(" # v")).is_some_and(
            |(commit, release)| {
                let is_commit = commit.len() == 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
                is_commit && release.split('.').filter(|part| part.parse::<u32>().is_ok()).count() == 3
            },
        );
        assert!(is_pinned, "{file}: {action}: name a commit, and its release as a comment");
        seen += 1;
    }
    assert!(seen > 20, "{seen} actions were found");
}

/// `deploy` compares a package with the checksum beside it, which must come with it.
#[test]
fn packages_are_released_with_their_checksums() {
    for file in ["ci.yml", "release.yml"] {
        let uploaded: Vec<String> = lines().into_iter().filter(|(own, _)| own == file).map(|(_, line)| line).collect();
        for ending in ["tar.gz", "deb", "sha256"] {
            assert!(uploaded.contains(&format!("target/package/*.{ending}")), "{file} does not upload *.{ending}");
        }
    }
}

#[test]
fn verbs_of_steps_are_there() {
    let mut seen = 0;
    for (file, line) in lines() {
        for rest in line.split("cargo xtask ").skip(1) {
            let verb = rest.split_whitespace().next().unwrap_or_default();
            assert!(verbs::find(verb).is_some(), "{file}: there is no `cargo xtask {verb}`");
            seen += 1;
        }
    }
    assert!(seen > 8, "{seen} verbs were found");
}
