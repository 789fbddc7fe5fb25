//! The order of a crate's folders, where its front page has a table of them: files use none of the rows below.

use std::collections::BTreeMap;

use super::modules::Modules;

/// The first line of such a table.
const HEADER: &str = "//! | folder or file | what is there |";

/// In what a crate's files differ from the table on its front page, the source of its root; nothing if that has none.
pub(super) fn faults(front: &str, modules: &Modules) -> Vec<String> {
    let rows = rows(front);
    if rows.is_empty() {
        return Vec::new();
    }
    let folders = modules.outer_folders();
    let missing = folders.keys().filter(|folder| !rows.contains_key(**folder));
    let mut faults: Vec<String> = missing.map(|folder| format!("{folder} has no row")).collect();
    let gone = rows.keys().filter(|name| !folders.contains_key(*name));
    faults.extend(gone.map(|name| format!("there is no {name}")));

    let pairs = folders.iter().flat_map(|(folder, all)| all.iter().map(move |other| (*folder, *other)));
    let upward = pairs.filter(|(folder, other)| rows.get(folder) < rows.get(other));
    faults.extend(upward.map(|(folder, other)| format!("{folder} uses {other}, which stands below it")));
    faults
}

/// The folders and files of the table, with the numbers of their rows.
fn rows(front: &str) -> BTreeMap<&str, usize> {
    let table = front.lines().skip_while(|line| *line != HEADER).skip(2);
    let cells = table.map_while(|line| line.strip_prefix("//! | ")?.split(" | ").next());
    let names = cells.enumerate().flat_map(|(row, cell)| cell.split(", ").map(move |name| (name, row)));
    names.map(|(name, row)| (name.trim_matches('`').trim_end_matches(".rs"), row)).collect()
}

#[cfg(test)]
mod tests {
    use super::{Modules, faults};

    const FRONT: &str = "//! A crate.
//!
//! | folder or file | what is there |
//! |---|---|
//! | `a.rs`, `b` | the leaves |
//! | `c` | the rest |
//!
//! More.
";

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let mut modules = Modules::default();
        files.iter().for_each(|(name, source)| modules.add(name, source));
        faults(FRONT, &modules)
    }

    #[test]
    fn files_use_none_of_the_rows_below() {
        let folders = [("lib", ""), ("b/mod", ""), ("c/mod", "")];
        let (a, c) = (("a", "pub struct A;\n"), ("c/top", "use crate::a::A;\nuse crate::b::leaf::B;\n"));
        let b = ("b/leaf", "use crate::a::A;\npub struct B(A);\n");
        assert_eq!(found(&[folders.as_slice(), &[a, b, c]].concat()), [""; 0]);
        let upward = ("b/leaf", "use crate::c::top::go;\n");
        assert_eq!(found(&[folders.as_slice(), &[a, upward, c]].concat())[0], "b uses c, which stands below it");
    }

    #[test]
    fn the_table_has_all_folders_and_no_others() {
        assert_eq!(found(&[("lib", ""), ("a", ""), ("c/top", ""), ("d", "")]), ["d has no row", "there is no b"]);
        assert_eq!(faults("//! A crate.\n", &Modules::default()), [""; 0]);
    }
}
