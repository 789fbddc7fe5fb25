//! Links of the book as it came out: to pages and places of pages that are there.

use std::path::Path;

use crate::command::Failure;

use crate::files::{ending, read};

/// Pages that repeat others.
const REPEATED: [&str; 3] = ["print.html", "toc.html", "404.html"];

/// Fails with the links that lead nowhere.
pub(super) fn check(book: &Path) -> Result<(), Failure> {
    let mut lost = Vec::new();
    for page in ending(book, ".html")? {
        if REPEATED.iter().any(|name| page.ends_with(name)) {
            continue;
        }
        let text = read(&page)?;
        let inside = targets(&text).filter(|target| !target.contains(':'));
        for target in inside {
            if !leads_somewhere(&page, &text, target) {
                lost.push(format!("{}: {target}", page.strip_prefix(book).unwrap_or(&page).display()));
            }
        }
    }
    lost.dedup();
    if lost.is_empty() { Ok(()) } else { Err(Failure(format!("links of the book lead nowhere:\n{}", lost.join("\n")))) }
}

fn leads_somewhere(page: &Path, text: &str, target: &str) -> bool {
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let file = page.parent().unwrap_or(page).join(path);
    if anchor.is_empty() {
        return path.is_empty() || file.is_file() || file.join("index.html").is_file();
    }
    let has_place = |text: &str| text.contains(&format!("id=\"{anchor}\""));
    if path.is_empty() { has_place(text) } else { read(&file).is_ok_and(|text| has_place(&text)) }
}

/// What a page links to or shows.
fn targets(text: &str) -> impl Iterator<Item = &str> {
    ["href=\"", "src=\""].into_iter().flat_map(move |attribute| {
        text.split(attribute).skip(1).filter_map(|rest| rest.split('"').next()).filter(|target| !target.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_page_links_to_is_found() {
        let text = r##"<a href="a.html#b">x</a><img src="c.svg"><a href="#d">y</a>"##;
        assert_eq!(targets(text).collect::<Vec<_>>(), ["a.html#b", "#d", "c.svg"]);
        assert!(leads_somewhere(Path::new("page.html"), r#"<h2 id="d">"#, "#d"));
        assert!(!leads_somewhere(Path::new("page.html"), r#"<h2 id="d">"#, "#e"));
        assert!(!leads_somewhere(Path::new("page.html"), "", "none.html"));
    }
}
