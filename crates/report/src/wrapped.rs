//! Text in lines.

/// Characters of a line that every terminal has.
pub(crate) const WIDTH: usize = 80;

/// A text of one or several paragraphs, a line each, in lines of at most so many characters, as far as words fit.
pub fn prose(text: &str, width: usize) -> String {
    text.split('\n').map(|line| wrapped("", line, "", width)).collect::<Vec<_>>().join("\n")
}

/// The words of a text in lines that have at most so many characters, as far as words fit: the first line begins with
/// `start`, the others with an indent.
pub(crate) fn wrapped(start: &str, text: &str, indent: &str, width: usize) -> String {
    let mut lines = Vec::new();
    let (mut line, mut is_empty) = (start.to_owned(), true);
    for word in text.split_whitespace() {
        if !is_empty && line.chars().count() + 1 + word.chars().count() > width {
            lines.push(std::mem::replace(&mut line, indent.to_owned()));
        } else if !is_empty {
            line.push(' ');
        }
        line.push_str(word);
        is_empty = false;
    }
    lines.push(line);
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::prose;

    #[test]
    fn paragraphs_stay_apart_and_long_words_whole() {
        assert_eq!(prose("one two three\n\nfour", 8), "one two\nthree\n\nfour");
        assert_eq!(prose("a 123456789\n", 4), "a\n123456789\n");
    }
}
