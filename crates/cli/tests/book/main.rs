//! Snippets of the book, the README and the how-to pages: what is typed is run, and what is shown is compared.
//!
//! Blocks of `sh` are run; blocks of `console` are run line by line after `$`, and what follows is compared with
//! standard output, where a line `...` stands for any lines. All blocks of a page run in one shell in one folder. A
//! comment before a block, `<!-- not run: reason -->`, leaves it out. Rust in other pages is printed from a file that
//! is compiled, and says from which: `<!-- not run: stands in FILE -->`; a line `// ...` stands for any lines. Other
//! languages are run elsewhere: Rust in pages of crates by rustdoc, Python by `crates/python/tests/test_book.py`, C by
//! `crates/c-api/tests`.

#![cfg(all(unix, feature = "ort", feature = "highs"))]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod blocks;
mod shell;
#[path = "../support.rs"]
mod support;

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use blocks::{Block, blocks};
use shell::run;

/// Pages whose Python, or C, is run by the tests of these packages, which name them.
const PYTHON: [&str; 3] = ["README.md", "crates/python/README.md", "docs/tutorials/python-script.md"];
const C: [&str; 2] = ["README.md", "crates/c-api/README.md"];

/// What says that a block is printed from a file.
const STANDS_IN: &str = "stands in ";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every page with snippets, by its place in the repository.
fn pages() -> Vec<String> {
    let mut pages: Vec<String> = ["README.md", "CONTRIBUTING.md", "SECURITY.md"].map(str::to_owned).to_vec();
    let mut folders = vec![root().join("docs")];
    for entry in std::fs::read_dir(root().join("crates")).unwrap() {
        let folder = entry.unwrap().path();
        folders.push(folder.join("docs"));
        // READMEs that are made of front pages have examples that rustdoc runs.
        pages.extend(
            ["c-api", "python"]
                .iter()
                .filter(|name| folder.ends_with(name))
                .map(|name| format!("crates/{name}/README.md")),
        );
    }
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    pages.sort();
    pages
}

fn blocks_of(page: &str) -> Vec<Block> {
    blocks(&support::text(&root().join(page)))
}

#[test]
fn what_is_typed_works_and_prints_what_is_shown() {
    let pages: Vec<(String, Vec<Block>)> = pages().into_iter().map(|page| (page.clone(), blocks_of(&page))).collect();
    let shells = pages.iter().filter(|(_, blocks)| blocks.iter().any(Block::is_run_in_shell));
    let cache = support::Workplace::new();
    shell::measure(&cache.path("cache"));
    let (left, failures) = (Mutex::new(shells), Mutex::new(Vec::new()));
    let next = || left.lock().unwrap().next();
    // Two at a time: much of a page runs on a single core.
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some((page, blocks)) = next() {
                    let start = std::time::Instant::now();
                    let failure = run(blocks, &cache.path("cache")).err();
                    println!("{page}: {:.1?}", start.elapsed());
                    failures.lock().unwrap().extend(failure.map(|failure| format!("{page}: {failure}")));
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

/// The fragments in JSON are JSON.
#[test]
fn json_can_be_read() {
    let mut seen = 0;
    for page in pages() {
        for block in blocks_of(&page).iter().filter(|block| block.language == "json" && block.left_out.is_none()) {
            // Members of an object that is not shown.
            let whole = if block.text.starts_with('{') { block.text.clone() } else { format!("{{{}}}", block.text) };
            let read = serde_json::from_str::<serde_json::Value>(&whole);
            assert!(read.is_ok(), "{page}: {read:?}\n{}", block.text);
            seen += 1;
        }
    }
    assert!(seen > 2, "{seen} fragments were found");
}

/// No snippet is in a language that nothing runs, unless it says why.
#[test]
fn every_snippet_is_run_or_says_why_not() {
    for page in pages() {
        for Block { language, left_out, text } in blocks_of(&page) {
            let is_doctest = page.starts_with("crates/") && page.contains("/docs/");
            let is_run = match language.as_str() {
                "sh" | "console" | "json" | "text" | "" => true,
                "rust" => is_doctest || page == "README.md",
                "python" => PYTHON.contains(&page.as_str()),
                "c" => C.contains(&page.as_str()),
                _ => false,
            };
            assert!(
                is_run || left_out.is_some(),
                "{page}: nothing runs this {language}, and it says no reason:\n{text}"
            );
            let is_printed = |reason: &str| reason.starts_with(STANDS_IN);
            assert!(
                language != "rust" || left_out.as_deref().is_none_or(is_printed),
                "{page}: nothing compiles this:\n{text}"
            );
            assert!(left_out.is_none_or(|reason| reason.len() > 10), "{page}: a reason for\n{text}");
        }
    }
}

/// What a page says to print of a file stands in it.
#[test]
fn printed_code_stands_in_its_file() {
    let mut printed = 0;
    for page in pages() {
        for Block { left_out, text, .. } in blocks_of(&page) {
            let Some(file) = left_out.as_deref().and_then(|reason| reason.strip_prefix(STANDS_IN)) else { continue };
            let source = support::text(&root().join(file));
            let source: Vec<&str> = source.lines().map(str::trim).collect();
            let lines = text.lines().map(|line| if line.trim() == "// ..." { "..." } else { line.trim() });
            let shown: Vec<String> = ["..."].into_iter().chain(lines).chain(["..."]).map(str::to_owned).collect();
            assert!(shell::is_as_shown(&shown, &source), "{page} prints what {file} does not have:\n{text}");
            printed += 1;
        }
    }
    assert!(printed > 5, "only {printed} blocks say that they stand in a file");
}

/// The program in the README is the library's example, which is built and run outside the workspace.
#[test]
fn the_program_in_the_readme_is_the_example() {
    let example = support::text(&root().join("crates/cli/examples/stream.rs"));
    let example: Vec<&str> = example.lines().map(str::trim).collect();
    let blocks = blocks_of("README.md");
    let program = blocks.iter().find(|block| block.language == "rust").unwrap();
    let program: Vec<&str> = program.text.lines().map(str::trim).collect();
    assert!(example.windows(program.len()).any(|lines| lines == program), "{program:#?}");
}

/// Other tests run what these pages have in other languages.
#[test]
fn tests_of_other_languages_name_their_pages() {
    let of = |test: &str, pages: &[&str]| {
        let test = support::text(&root().join(test));
        assert!(pages.iter().all(|page| test.contains(page)), "{pages:?}");
    };
    of("crates/python/tests/test_book.py", &PYTHON);
    of("crates/c-api/tests/book.rs", &C);
}
