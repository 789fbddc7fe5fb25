//! Columns that are made narrower until a table fits.

use crate::align::Align;

/// Text columns are not made narrower than this.
const LEAST_TEXT: usize = 10;
/// Where a word goes on in the next line if it must.
const JOINTS: [char; 7] = ['-', '|', '+', '/', '_', ',', ')'];

/// How wide columns are at most, in characters, so that a table with borders of `| a | b |` fits. First the titles of
/// numbers take several lines, then texts, then whatever has joints. Where all that is not enough, the table is wider,
/// and only titles take several lines.
pub(crate) fn widths(columns: &[(String, Align)], rows: &[Vec<String>], most: usize) -> Vec<usize> {
    let texts = |place: usize| cells(columns, rows, place);
    let mut widths: Vec<usize> = (0..columns.len()).map(|place| most_of(texts(place), length)).collect();
    let unbroken: Vec<usize> = (0..columns.len()).map(|place| most_of(texts(place), longest_piece)).collect();
    // A number and its unit stay together as long as they can.
    let content = |place: usize| most_of(texts(place).skip(1), length).max(most_of(texts(place).take(1), longest_word));
    let steps: [(Align, &dyn Fn(usize) -> usize); 4] = [
        (Align::Right, &content),
        (Align::Left, &|place| unbroken[place].max(LEAST_TEXT)),
        (Align::Left, &|place| unbroken[place].min(LEAST_TEXT)),
        (Align::Right, &|place| unbroken[place]),
    ];
    let is_too_wide = |widths: &[usize]| widths.iter().map(|width| width + 3).sum::<usize>() + 1 > most;
    let mut with_titles = Vec::new();
    for (align, least) in steps {
        while is_too_wide(&widths) {
            let can_shrink = |&place: &usize| columns[place].1 == align && widths[place] > least(place);
            let Some(widest) = (0..columns.len()).filter(can_shrink).max_by_key(|&place| widths[place]) else { break };
            widths[widest] -= 1;
        }
        if with_titles.is_empty() {
            with_titles.clone_from(&widths);
        }
    }
    if is_too_wide(&widths) { with_titles } else { widths }
}

/// The title of a column and what is below it.
fn cells<'a>(columns: &'a [(String, Align)], rows: &'a [Vec<String>], place: usize) -> impl Iterator<Item = &'a str> {
    let below = rows.iter().filter_map(move |row| row.get(place));
    columns.get(place).map(|(title, _)| title).into_iter().chain(below).map(String::as_str)
}

fn most_of<'a>(texts: impl Iterator<Item = &'a str>, size: impl Fn(&str) -> usize) -> usize {
    texts.map(size).max().unwrap_or_default()
}

fn length(text: &str) -> usize {
    text.chars().count()
}

fn longest_word(text: &str) -> usize {
    text.split(' ').map(length).max().unwrap_or_default()
}

/// What can't be taken apart.
fn longest_piece(text: &str) -> usize {
    pieces(text).map(|piece| length(piece.trim_end())).max().unwrap_or_default()
}

/// A text in lines of at most so many characters, broken between words or else behind what joins their parts.
pub(crate) fn in_lines(text: &str, width: usize) -> String {
    let mut lines = Vec::new();
    let mut line = String::new();
    for piece in pieces(text) {
        if line.chars().count() + piece.trim_end().chars().count() > width && !line.is_empty() {
            lines.push(std::mem::take(&mut line));
        }
        let mut rest = piece;
        // What has no joint is broken anywhere.
        while rest.trim_end().chars().count() > width.max(1) {
            let at = rest.char_indices().nth(width.max(1)).map_or(rest.len(), |(at, _)| at);
            lines.push(rest[..at].to_owned());
            rest = &rest[at..];
        }
        line.push_str(rest);
    }
    lines.push(line);
    let lines: Vec<&str> = lines.iter().map(|line| line.trim_end()).collect();
    lines.join("\n")
}

/// A text in parts, each with the blank or the joint behind it.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(|character: char| character == ' ' || JOINTS.contains(&character))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words_or_behind_joints() {
        assert_eq!(in_lines("(B1|s1|s1)-(B1|B1|B1)-G1", 12), "(B1|s1|s1)-\n(B1|B1|B1)-\nG1");
        assert_eq!(in_lines("energy, throughput", 10), "energy,\nthroughput");
        assert_eq!(in_lines("abcdefgh", 3), "abc\ndef\ngh");
        assert_eq!(in_lines("short", 10), "short");
        assert_eq!(in_lines("", 10), "");
    }

    #[test]
    fn titles_of_numbers_give_way_before_texts_do() {
        let columns = [("stages".to_owned(), Align::Left), ("latency ms".to_owned(), Align::Right)];
        let rows = [vec!["B1-s2-B3-G1-B1".to_owned(), "12.5".to_owned()]];
        assert_eq!(widths(&columns, &rows, 40), [14, 10]);
        assert_eq!(widths(&columns, &rows, 30), [14, 9]);
        assert_eq!(widths(&columns, &rows, 26), [12, 7]);
        assert_eq!(widths(&columns, &rows, 24), [LEAST_TEXT, 7]);
        assert_eq!(widths(&columns, &rows, 20), [6, 7]);
        // There is no way to be so narrow.
        assert_eq!(widths(&columns, &rows, 10), [14, 7]);
    }
}
