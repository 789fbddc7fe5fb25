//! Fenced blocks of Markdown.

/// One of them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Block {
    /// What stands behind the fence.
    pub(crate) language: String,
    /// Why it is not run, if the line before says so.
    pub(crate) left_out: Option<String>,
    /// Its lines, without the indentation of the fence.
    pub(crate) text: String,
}

impl Block {
    pub(crate) fn is_run_in_shell(&self) -> bool {
        self.left_out.is_none() && ["sh", "console"].contains(&self.language.as_str())
    }
}

/// All blocks of a page, in order.
pub(crate) fn blocks(page: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let mut left_out = None;
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let bare = line.trim_start();
        let Some(language) = bare.strip_prefix("```") else {
            let reason = bare.strip_prefix("<!-- not run: ").and_then(|rest| rest.strip_suffix(" -->"));
            // A comment counts for the next block, also with empty lines between.
            left_out = reason.map(str::to_owned).or(left_out.filter(|_| bare.is_empty()));
            continue;
        };
        let indentation = &line[..line.len() - bare.len()];
        // What follows a comma is for rustdoc.
        let language = language.split(',').next().unwrap_or(language);
        let inside = lines.by_ref().take_while(|line| line.trim() != "```");
        let text: Vec<&str> = inside.map(|line| line.strip_prefix(indentation).unwrap_or(line)).collect();
        found.push(Block { language: language.to_owned(), left_out: left_out.take(), text: text.join("\n") });
    }
    found
}

#[test]
fn blocks_are_found_with_their_reasons() {
    let page = "a\n```sh\nb\n```\n1. c\n\n   <!-- not run: needs a board -->\n   ```text\n   d\n     e\n   ```\n";
    let block = |language: &str, left_out: Option<&str>, text: &str| Block {
        language: language.to_owned(),
        left_out: left_out.map(str::to_owned),
        text: text.to_owned(),
    };
    assert_eq!(blocks(page), [block("sh", None, "b"), block("text", Some("needs a board"), "d\n  e")]);
}
