//! Tables that are taken apart because no way to break their cells makes them narrow enough.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::align::Align;

/// Which columns stand in which part: each part has those that tell the rows apart, and as many others as `fits` says.
/// Nothing where no columns do that, or where there is nothing to part.
pub(crate) fn parts(
    columns: &[(String, Align)],
    rows: &[Vec<String>],
    fits: impl Fn(&[usize]) -> bool,
) -> Option<Vec<Vec<usize>>> {
    let keys = keys(columns.len(), rows)?;
    let mut parts: Vec<Vec<usize>> = Vec::new();
    for group in groups(columns, keys) {
        let longer = parts.last().map(|part| part.iter().copied().chain(group.clone()).collect::<Vec<_>>());
        match (parts.last_mut(), longer.filter(|longer| fits(longer))) {
            (Some(part), Some(longer)) => *part = longer,
            _ => parts.push((0..keys).chain(group).collect()),
        }
    }
    (parts.len() > 1).then_some(parts)
}

/// How many of the first columns it takes until no two rows are the same in them.
fn keys(columns: usize, rows: &[Vec<String>]) -> Option<usize> {
    let are_apart = |&count: &usize| {
        let heads: BTreeSet<&[String]> = rows.iter().map(|row| row.get(..count).unwrap_or(row)).collect();
        heads.len() == rows.len()
    };
    (1..columns).find(are_apart)
}

/// Columns that stay together: a title that stands more than once says nothing without the column before it.
fn groups(columns: &[(String, Align)], keys: usize) -> Vec<Range<usize>> {
    let is_repeated = |title: &String| columns.iter().filter(|(known, _)| known == title).count() > 1;
    let mut groups: Vec<Range<usize>> = Vec::new();
    for (place, (title, _)) in columns.iter().enumerate().skip(keys) {
        match groups.last_mut() {
            Some(group) if is_repeated(title) => group.end = place + 1,
            _ => groups.push(place..place + 1),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(titles: &[&str]) -> Vec<(String, Align)> {
        titles.iter().map(|&title| (title.to_owned(), Align::Right)).collect()
    }

    fn rows(rows: &[&[&str]]) -> Vec<Vec<String>> {
        rows.iter().map(|row| row.iter().map(|&cell| cell.to_owned()).collect()).collect()
    }

    #[test]
    fn every_part_tells_its_rows_apart_and_keeps_pairs_together() {
        let columns = columns(&["network", "MHz", "ours, s", "paper's", "ours, J", "paper's", "gain"]);
        let rows = rows(&[&["a", "1", "", "", "", "", ""], &["a", "2", "", "", "", "", ""]]);
        let of_most = |most: usize| parts(&columns, &rows, |part| part.len() <= most);
        assert_eq!(of_most(5), Some(vec![vec![0, 1, 2, 3], vec![0, 1, 4, 5, 6]]));
        assert_eq!(of_most(6), Some(vec![vec![0, 1, 2, 3, 4, 5], vec![0, 1, 6]]));
        // A pair is not taken apart, however little room there is.
        assert_eq!(of_most(0), Some(vec![vec![0, 1, 2, 3], vec![0, 1, 4, 5], vec![0, 1, 6]]));
        assert_eq!(of_most(7), None);
    }

    #[test]
    fn rows_that_are_the_same_are_not_parted() {
        let columns = columns(&["a", "b", "c"]);
        assert_eq!(parts(&columns, &rows(&[&["1", "2", "3"], &["1", "2", "4"]]), |_| false), None);
        assert_eq!(parts(&columns, &rows(&[&["1", "2", "3"], &["1", "3", "3"]]), |_| false), None);
    }
}
