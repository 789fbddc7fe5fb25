//! The words of a file's own code: without comments, literals and its tests.

/// A source without comments, and with nothing in its literals. Lines stay what they were.
pub(super) fn bare(source: &str) -> String {
    let letters: Vec<char> = source.chars().collect();
    let mut bare = String::with_capacity(source.len());
    let mut place = 0;
    while let Some(&letter) = letters.get(place) {
        let rest = &letters[place..];
        let skipped = match letter {
            '/' if rest.starts_with(&['/', '/']) => rest.iter().take_while(|&&own| own != '\n').count(),
            '"' => quoted(rest),
            'r' if !bare.ends_with(is_of_word) => raw(rest),
            '\'' => character(rest),
            _ => 0,
        };
        bare.extend(rest[..skipped].iter().filter(|&&own| own == '\n'));
        if skipped == 0 {
            bare.push(letter);
        }
        place += skipped.max(1);
    }
    bare
}

/// The words of bare code, `::` and the braces, commas and semicolons between them.
pub(super) fn words(bare: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = bare;
    while let Some(first) = rest.chars().next() {
        let length = if is_of_word(first) {
            rest.find(|letter| !is_of_word(letter)).unwrap_or(rest.len())
        } else if rest.starts_with("::") {
            2
        } else {
            first.len_utf8()
        };
        let (word, after) = rest.split_at(length);
        if !word.trim().is_empty() {
            words.push(word);
        }
        rest = after;
    }
    words
}

/// Bare code without its modules of tests, which end with a brace at the beginning of a line.
pub(super) fn without_tests(bare: &str) -> String {
    let mut kept = String::new();
    let mut lines = bare.lines();
    while let Some(line) = lines.next() {
        if !line.starts_with("#[cfg(test)]") && !line.starts_with("#[cfg(all(test") {
            kept.push_str(line);
            kept.push('\n');
            continue;
        }
        let item = lines.by_ref().find(|line| !line.starts_with("#["));
        if item.is_some_and(|line| line.ends_with('{')) {
            lines.by_ref().find(|line| *line == "}");
        }
    }
    kept
}

fn is_of_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// How long a text in quotes is that begins here.
fn quoted(letters: &[char]) -> usize {
    let mut place = 1;
    while let Some(&letter) = letters.get(place) {
        match letter {
            '"' => return place + 1,
            '\\' => place += 2,
            _ => place += 1,
        }
    }
    letters.len()
}

/// How long a raw text is that begins here; 0 if none does.
fn raw(letters: &[char]) -> usize {
    let hashes = letters[1..].iter().take_while(|&&letter| letter == '#').count();
    if letters.get(1 + hashes) != Some(&'"') {
        return 0;
    }
    let end: Vec<char> = std::iter::once('"').chain(std::iter::repeat_n('#', hashes)).collect();
    let begin = hashes + 2;
    let found = letters[begin..].windows(end.len()).position(|own| own == end);
    found.map_or(letters.len(), |found| begin + found + end.len())
}

/// How long a letter in quotes is that begins here; 0 if a lifetime does.
fn character(letters: &[char]) -> usize {
    match letters {
        [_, '\\', rest @ ..] => rest.iter().skip(1).position(|&letter| letter == '\'').map_or(0, |found| found + 4),
        [_, _, '\'', ..] => 3,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::{bare, without_tests, words};

    #[test]
    fn only_code_is_left() {
        let source =
            "use a::b; // use c::d;\nlet x = \"use \\\" e\"; let y = '\"'; fn f<'a>() {}\nr#\"use \"f\" \"#;\n";
        assert_eq!(bare(source), "use a::b; \nlet x = ; let y = ; fn f<'a>() {}\n;\n");
        assert_eq!(words("use a::{b, c};"), ["use", "a", "::", "{", "b", ",", "c", "}", ";"]);
    }

    #[test]
    fn tests_are_left_out() {
        let source =
            "use a::b;\n#[cfg(test)]\nmod tests {\n    use c::d;\n}\nfn e() {}\n#[cfg(test)]\nmod more;\nfn g() {}\n";
        assert_eq!(without_tests(source), "use a::b;\nfn e() {}\nfn g() {}\n");
    }
}
