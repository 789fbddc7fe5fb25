//! How long functions are: none is longer than a screen, and long ones have paragraphs.

use std::fs;

use crate::command::{Failure, crates};
use crate::files::{ending, shown};
use crate::folders::root;

/// The most lines of a function, from its first to its last.
const MOST: usize = 60;

/// A function with more lines than this has paragraphs: an empty line between two of its steps.
const WITHOUT_PARAGRAPHS: usize = 30;

/// A function of a file.
#[derive(Debug, PartialEq, Eq)]
struct Function {
    /// Where it begins, counted from 1.
    line: usize,
    name: String,
    lines: usize,
    has_paragraphs: bool,
}

/// Fails with the functions that are too long or have no paragraphs.
pub(crate) fn check() -> Result<(), Failure> {
    let (mut too_long, mut unbroken) = (Vec::new(), Vec::new());
    let crates = crates()?.into_iter().map(|name| format!("crates/{name}"));
    for name in crates.chain(["fuzz".to_owned(), "xtask".to_owned()]) {
        for folder in ["src", "tests", "examples", "benches"] {
            let folder = root().join(&name).join(folder);
            let files = if folder.is_dir() { ending(&folder, ".rs")? } else { Vec::new() };
            for file in files {
                let text =
                    fs::read_to_string(&file).map_err(|error| Failure(format!("{}: {error}", file.display())))?;
                let path = shown(&file);
                for Function { line, name, lines, has_paragraphs } in functions(&text) {
                    let told = format!("{path}:{line}: {name} has {lines} lines");
                    if lines > MOST {
                        too_long.push(told.clone());
                    }
                    if lines > WITHOUT_PARAGRAPHS && !has_paragraphs {
                        unbroken.push(told);
                    }
                }
            }
        }
    }

    if !too_long.is_empty() {
        return Err(Failure(format!("functions of more than {MOST} lines need named steps:\n{}", too_long.join("\n"))));
    }
    if !unbroken.is_empty() {
        return Err(Failure(format!(
            "functions of more than {WITHOUT_PARAGRAPHS} lines need an empty line between their steps:\n{}",
            unbroken.join("\n")
        )));
    }
    Ok(())
}

/// The functions of a file that is formatted: each ends with a brace below the first letter of its first line.
fn functions(source: &str) -> Vec<Function> {
    let mut found: Vec<Function> = Vec::new();
    let mut open: Option<(usize, &str, String)> = None;
    let mut has_paragraphs = false;
    for (place, line) in source.lines().enumerate() {
        let (indent, text) = line.split_at(line.len() - line.trim_start().len());
        match &open {
            None => {
                if let Some(name) = declared(text) {
                    open = Some((place, indent, name));
                    has_paragraphs = false;
                }
            }
            Some((first, of_function, name)) if indent == *of_function && (text == "}" || text.ends_with(';')) => {
                let lines = place + 1 - first;
                found.push(Function { line: first + 1, name: name.clone(), lines, has_paragraphs });
                open = None;
            }
            Some(_) => has_paragraphs |= text.is_empty(),
        }
    }
    found
}

/// The name of the function that a line declares.
fn declared(text: &str) -> Option<String> {
    let words = text.split_once("fn ")?;
    let is_qualifier =
        |word: &str| ["pub", "const", "async", "unsafe", "extern", "\"C\""].contains(&word) || word.starts_with("pub(");
    // On one line it is short, and functions in traits have no body.
    let is_whole = text.ends_with('}') || text.ends_with(';');
    let is_function = words.0.split_whitespace().all(is_qualifier) && !is_whole;
    let name = words.1.split(|character: char| !character.is_alphanumeric() && character != '_').next()?;
    (is_function && !name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{Function, functions};

    #[test]
    fn functions_are_measured_from_their_first_line_to_their_last() {
        let source = "impl A {\n    pub(crate) const fn first(\n        a: usize,\n    ) -> usize {\n        let b = || {\n            a\n        };\n\n        b()\n    }\n
    fn short(&self) {}\n    fn asked(&self);\n}\n\nfn second() {\n    let fn_name = 1;\n    // calls fn third( not\n}\n";
        let function =
            |line, name: &str, lines, has_paragraphs| Function { line, name: name.to_owned(), lines, has_paragraphs };
        assert_eq!(functions(source), [function(2, "first", 9, true), function(16, "second", 4, false)]);
    }
}
