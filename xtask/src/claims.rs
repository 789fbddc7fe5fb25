//! What the pages and the command claim: every sentence that calls something exact, best possible or impossible has
//! been read with the question in which space, and stands in `xtask/claims.txt`.

use std::collections::BTreeSet;
use std::path::Path;

use crate::command::{Failure, crates};
use crate::files::{ending, read, shown, sources};
use crate::folders::root;
use crate::pages;

/// Sentences with these are claims.
const WORDS: [&str; 15] = [
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
    "best way",
    "finds the best",
    "best there is",
];
const LIST: &str = "xtask/claims.txt";
/// What programs and libraries say is read too, errors included; of these, what tests and papers' tables say is not.
const SILENT: [&str; 4] = ["backend-test", "chaos", "reproduce", "test-support"];

/// Fails with sentences that nobody has looked at, and with those of the list that stand nowhere any more.
pub(crate) fn check() -> Result<(), Failure> {
    let mut found = BTreeSet::new();
    let help = ending(&root().join("crates/cli/tests/snapshots"), ".snap")?;
    for page in pages::all()?.into_iter().chain(help) {
        found.extend(claims(&read(&page)?).into_iter().map(|claim| in_file(&page, &claim)));
    }
    let speaking = crates()?.into_iter().filter(|name| !SILENT.contains(&name.as_str()));
    for name in speaking {
        for source in sources(&name)? {
            let printed = literals(&read(&source)?);
            found.extend(printed.iter().flat_map(|text| claims(text)).map(|claim| in_file(&source, &claim)));
        }
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

/// A claim behind the name of its file.
fn in_file(file: &Path, claim: &str) -> String {
    format!("{}: {claim}", shown(file))
}

/// The string literals of a source file without those of its tests, escaped line breaks as such.
fn literals(source: &str) -> Vec<String> {
    let code = source.split_once("#[cfg(test)]\nmod ").map_or(source, |(code, _)| code);
    let (mut rest, mut found) = (code, Vec::new());
    while let Some(place) = rest.find(['"', '/', '\'']) {
        let before = &rest[..place];
        rest = &rest[place..];
        if rest.starts_with("//") {
            rest = rest.split_once('\n').map_or("", |(_, after)| after);
        } else if let Some(after) = ["'\"'", "'\\\"'"].iter().find_map(|quote| rest.strip_prefix(quote)) {
            rest = after;
        } else if let Some(after) = rest.strip_prefix('"') {
            let (literal, after) = if before.ends_with('#') {
                after.split_once("\"#").map_or((after.to_owned(), ""), |(text, after)| (text.to_owned(), after))
            } else {
                literal(after)
            };
            found.push(literal);
            rest = after;
        } else {
            rest = &rest[1..];
        }
    }
    found
}

/// The literal that a text begins with, behind its first quotation mark, and what is behind the literal.
fn literal(text: &str) -> (String, &str) {
    let mut literal = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => break,
            '\\' => match characters.next() {
                Some('n') => literal.push('\n'),
                // What is behind a line's end goes on where its next line does.
                Some('\n') => characters = characters.as_str().trim_start().chars(),
                escaped => literal.extend(escaped),
            },
            other => literal.push(other),
        }
    }
    (literal, characters.as_str())
}

/// The sentences of a page with one of the words, without what is in blocks of code. Cells of tables and points of
/// lists are apart.
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
    use super::{claims, literals};

    #[test]
    fn sentences_that_claim_something_are_found() {
        let page = "# The front\n\nIt is exact in\nthis space. It is quick.\n\n| exact | no pipeline is shorter |\n\n```text\nexact\n```\n- inexact, `exact.rs` and exact_shares\n";
        assert_eq!(claims(page), ["It is exact in this space.", "exact", "no pipeline is shorter"]);
    }

    #[test]
    fn literals_of_code_are_found() {
        let source = "// \"not this\"\nlet a = \"one \\\"exact\\\" \\\n   search\"; let b = ('\"', r#\"two\"#, 'c');\n#[cfg(test)]\nmod tests { \"nor this\" }\n";
        assert_eq!(literals(source), ["one \"exact\" search", "two"]);
    }
}
