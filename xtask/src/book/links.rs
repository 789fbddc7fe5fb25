//! Links in Markdown: where they are, and what others put in their place.

use std::ops::Range;

/// What becomes of a link.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// It stays as it is.
    Keep,
    /// It leads elsewhere.
    To(String),
    /// Its text stays, without a link.
    Unlink,
}

/// A link of the form `[text](target)`, by places in the page.
#[derive(Debug)]
struct Link {
    /// From the opening bracket to behind the closing one.
    text: Range<usize>,
    /// What stands between the parentheses.
    target: Range<usize>,
}

/// The targets of a page's links, in order.
pub(super) fn targets(page: &str) -> Vec<&str> {
    find(page).into_iter().filter_map(|link| page.get(link.target)).collect()
}

/// The page with each of its links changed as `decide` says of its target.
pub(super) fn change<E>(page: &str, mut decide: impl FnMut(&str) -> Result<Change, E>) -> Result<String, E> {
    let mut made = String::new();
    let mut done = 0;
    for Link { text, target } in find(page) {
        let piece = |range: Range<usize>| page.get(range).unwrap_or_default();
        match decide(piece(target.clone()))? {
            Change::Keep => continue,
            Change::To(place) => made += &format!("{}({place})", piece(done..text.end)),
            Change::Unlink => {
                made += piece(done..text.start);
                made += piece(text.start + 1..text.end - 1);
            }
        }
        done = target.end + 1;
    }
    Ok(made + page.get(done..).unwrap_or_default())
}

/// All links outside code. Links in the text of links, which are pictures, count by themselves.
fn find(page: &str) -> Vec<Link> {
    let is_code = code(page);
    let mut opened = Vec::new();
    let mut found: Vec<Link> = Vec::new();
    for (place, character) in page.char_indices().filter(|(place, _)| !is_code.get(*place).copied().unwrap_or_default())
    {
        match character {
            '[' => opened.push(place),
            ']' => {
                let Some(start) = opened.pop() else { continue };
                let behind = page.get(place + 1..).and_then(|rest| rest.strip_prefix('('));
                let length = behind.and_then(|rest| rest.find([')', '\n']).filter(|&end| rest[end..].starts_with(')')));
                let target = length.map(|length| place + 2..place + 2 + length);
                found.extend(target.map(|target| Link { text: start..place + 1, target }));
            }
            _ => {}
        }
    }
    // A link around a picture would be changed twice: only the picture is.
    let pictures: Vec<usize> = found.iter().map(|link| link.text.start).collect();
    found.retain(|link| !pictures.iter().any(|start| (link.text.start + 1..link.text.end).contains(start)));
    found
}

/// For each byte of a page whether it is part of code: of a fenced block, or between backticks of one line.
fn code(page: &str) -> Vec<bool> {
    let mut marks = Vec::with_capacity(page.len());
    let mut is_fenced = false;
    for line in page.split_inclusive('\n') {
        let is_fence = line.trim_start().starts_with("```");
        let mut is_inline = false;
        for byte in line.bytes() {
            is_inline ^= byte == b'`';
            marks.push(is_fenced || is_fence || is_inline);
        }
        is_fenced ^= is_fence;
    }
    marks
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str =
        "[one](a.md), `[no](b.md)`, [`two`\nlines](c.md#d), ![picture](e.svg)\n```sh\n[no](f.md)\n```\na[0] (g)\n";

    #[test]
    fn links_are_found_outside_code() {
        assert_eq!(targets(PAGE), ["a.md", "c.md#d", "e.svg"]);
    }

    #[test]
    fn links_change_and_all_else_stays() {
        let decide = |target: &str| {
            Ok::<_, ()>(match target {
                "a.md" => Change::To("x/a.md".to_owned()),
                "c.md#d" => Change::Unlink,
                _ => Change::Keep,
            })
        };
        let expected = PAGE.replace("(a.md)", "(x/a.md)").replace("[`two`\nlines](c.md#d)", "`two`\nlines");
        assert_eq!(change(PAGE, decide), Ok(expected));
    }
}
