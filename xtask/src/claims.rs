//! What the pages claim: every sentence that calls something exact, best possible or impossible has been read with the question in which space,
//! and stands in `xtask/claims.txt`.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use crate::command::{Failure, crates, root};
use crate::files::read;

/// Sentences with these are claims.
const WORDS: [&str; 12] = [
    "exact",
    "exactly",
    "optimal",
    "optimum",
    "provably",
    "no pipeline",
    "no schedule",
    "no plan",
    "best schedule",
    "best pipeline",
    "best plan",
    "best possible",
];
const LIST: &str = "xtask/claims.txt";

/// Fails with sentences that nobody has looked at, and with those of the list that stand nowhere any more.
pub(crate) fn check() -> Result<(), Failure> {
    let mut found = BTreeSet::new();
    for page in pages()? {
        let claims = claims(&read(&page)?);
        let name = page.strip_prefix(root()).unwrap_or(&page).display().to_string();
        found.extend(claims.into_iter().map(|claim| format!("{name}: {claim}")));
    }
    let list = read(&root().join(LIST))?;
    let known: BTreeSet<String> = list.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect();
    let new: Vec<&str> = found.difference(&known).map(String::as_str).collect();
    if !new.is_empty() {
        return Err(Failure(format!(
            "each of these sentences must say in which space it holds, and what is left open; then add it to {LIST}:\n{}",
            new.join("\n")
        )));
    }
    let gone: Vec<&str> = known.difference(&found).map(String::as_str).collect();
    if gone.is_empty() {
        return Ok(());
    }
    Err(Failure(format!("these sentences of {LIST} stand nowhere any more:\n{}", gone.join("\n"))))
}

/// The pages that people read: Markdown of the repository, of `docs`, and of the crates' own.
fn pages() -> Result<Vec<PathBuf>, Failure> {
    let mut pages = vec![root().join("README.md")];
    let mut folders = vec![root().join("docs")];
    folders.extend(crates()?.iter().map(|name| root().join("crates").join(name).join("docs")));
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for path in entries.filter_map(Result::ok).map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    Ok(pages)
}

/// The sentences of a page with one of the words, without what is in blocks of code. Cells of tables and points of lists are apart.
fn claims(page: &str) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut is_code = false;
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if line.trim().is_empty() || is_code {
            pieces.push(String::new());
        } else {
            let line = line.trim();
            if line.starts_with(['|', '#', '-', '*']) {
                pieces.push(String::new());
            }
            for (place, cell) in line.split(" | ").enumerate() {
                match pieces.last_mut() {
                    Some(last) if place == 0 => *last += &format!("{cell} "),
                    _ => pieces.push(format!("{cell} ")),
                }
            }
        }
    }
    pieces.iter().flat_map(|piece| sentences(piece)).filter(|sentence| is_claim(sentence)).collect()
}

fn sentences(text: &str) -> Vec<String> {
    let ended = text.replace(". ", ".\n").replace("; ", ";\n").replace(": ", ":\n");
    ended.lines().map(|line| line.trim_matches([' ', '|', '#']).to_owned()).filter(|line| !line.is_empty()).collect()
}

fn is_claim(sentence: &str) -> bool {
    let lower = sentence.to_lowercase();
    let is_letter = |character: Option<char>| {
        character.is_some_and(|character| character.is_alphanumeric() || "-_/".contains(character))
    };
    WORDS.iter().any(|word| {
        lower.match_indices(word).any(|(place, found)| {
            let (before, after) = (&lower[..place], &lower[place + found.len()..]);
            !is_letter(before.chars().next_back()) && !is_letter(after.chars().next()) && !after.starts_with(".rs")
        })
    })
}

#[cfg(test)]
mod tests {
    use super::claims;

    #[test]
    fn sentences_that_claim_something_are_found() {
        let page = "# The front\n\nIt is exact in\nthis space. It is quick.\n\n| exact | no pipeline is shorter |\n\n```text\nexact\n```\n- inexact, `exact.rs` and exact_shares\n";
        assert_eq!(claims(page), ["It is exact in this space.", "exact", "no pipeline is shorter"]);
    }
}
