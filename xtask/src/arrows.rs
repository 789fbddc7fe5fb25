//! The README's crate map against what the crates' manifests say: its last column has what each crate depends on.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::command::{Failure, crates};
use crate::folders::root;

/// Crates by their folders' names, and what they name.
type Arrows = BTreeMap<String, BTreeSet<String>>;

/// A row of the map: a crate, and those to which its arrows point.
#[derive(Debug, PartialEq, Eq)]
struct Row {
    name: String,
    to: BTreeSet<String>,
}

/// Fails with everything in which the map differs from the manifests.
pub(crate) fn check() -> Result<(), Failure> {
    let readme =
        fs::read_to_string(root().join("README.md")).map_err(|error| Failure(format!("README.md: {error}")))?;
    let mut depends = Arrows::new();
    for name in crates()? {
        let manifest = root().join("crates").join(&name).join("Cargo.toml");
        let text =
            fs::read_to_string(&manifest).map_err(|error| Failure(format!("{}: {error}", manifest.display())))?;
        depends.insert(name, dependencies(&text));
    }
    let faults = faults(&rows(&readme), &depends);
    if faults.is_empty() {
        return Ok(());
    }
    Err(Failure(format!("the README's crate map is not what the manifests say:\n{}", faults.join("\n"))))
}

/// The crates of this workspace that a manifest names among its dependencies, not those of tests.
fn dependencies(manifest: &str) -> BTreeSet<String> {
    let mut is_inside = false;
    let mut found = BTreeSet::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            is_inside = line == "[dependencies]" || (line.starts_with("[target.") && line.ends_with(".dependencies]"));
        } else if let (true, Some(rest)) = (is_inside, line.strip_prefix("millstream-")) {
            found.extend(rest.split(['.', ' ', '=']).next().map(str::to_owned));
        }
    }
    found
}

/// The rows of the crate map: those that link a crate's folder.
fn rows(readme: &str) -> Vec<Row> {
    let row = |line: &str| {
        let (name, rest) = line.strip_prefix("| [`")?.split_once("`](crates/")?;
        let (folder, cells) = rest.split_once(") | ")?;
        if folder.contains('/') {
            return None;
        }
        let (_, to) = cells.strip_suffix('|')?.rsplit_once('|')?;
        let to = to.trim().split(", ").filter(|name| !name.is_empty()).map(str::to_owned).collect();
        Some(Row { name: name.to_owned(), to })
    };
    readme.lines().filter_map(row).collect()
}

/// Every arrow is a dependency, every dependency is reached by arrows, and all of them point to rows above.
fn faults(rows: &[Row], depends: &Arrows) -> Vec<String> {
    let mapped: Arrows = rows.iter().map(|row| (row.name.clone(), row.to.clone())).collect();
    let mut faults: Vec<String> = Vec::new();
    faults.extend(depends.keys().filter(|name| !mapped.contains_key(*name)).map(|name| format!("{name} has no row")));

    for (place, Row { name, to }) in rows.iter().enumerate() {
        let Some(needed) = depends.get(name) else {
            faults.push(format!("there is no crate {name}"));
            continue;
        };
        let reached: BTreeSet<&String> = reachable(name, &mapped);
        let above: BTreeSet<&String> = rows[..place].iter().map(|row| &row.name).collect();
        faults.extend(to.difference(needed).map(|other| format!("{name} does not depend on {other}")));
        let missing = needed.iter().filter(|other| !reached.contains(other));
        faults.extend(missing.map(|other| format!("{name} depends on {other}, which no arrow leads to")));
        let below = needed.iter().filter(|other| !above.contains(other));
        faults.extend(below.map(|other| format!("{name} depends on {other}, which stands below it")));
    }
    faults
}

/// The crates that arrows lead to from one, over others as well.
fn reachable<'a>(from: &str, arrows: &'a Arrows) -> BTreeSet<&'a String> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&String> = arrows.get(from).into_iter().flatten().collect();
    while let Some(next) = open.pop() {
        if reached.insert(next) {
            open.extend(arrows.get(next).into_iter().flatten());
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAP: &str = "| [`a`](crates/a) | the first |  |
| [`b`](crates/b) | the second, with a comma | a |
| [`c`](crates/c) | the last | b |
| [`x`](crates/a/src/x.rs) | of another table | c |";

    fn depends(lines: &[(&str, &[&str])]) -> Arrows {
        let set = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        lines.iter().map(|(name, needed)| ((*name).to_owned(), set(needed))).collect()
    }

    #[test]
    fn a_map_may_leave_out_what_other_arrows_lead_to() {
        assert_eq!(faults(&rows(MAP), &depends(&[("a", &[]), ("b", &["a"]), ("c", &["a", "b"])])), [""; 0]);
        assert_eq!(faults(&rows(MAP), &depends(&[("a", &[]), ("b", &["a"]), ("c", &["b"])])), [""; 0]);
    }

    #[test]
    fn what_differs_is_told() {
        let found = |lines| faults(&rows(MAP), &depends(lines));
        assert_eq!(found(&[("a", &[]), ("b", &["a"]), ("c", &["a"])]), ["c does not depend on b"]);
        let circle = found(&[("a", &["c"]), ("b", &["a"]), ("c", &["b"])]);
        assert_eq!(circle, ["a depends on c, which no arrow leads to", "a depends on c, which stands below it"]);
        assert_eq!(found(&[("a", &[]), ("b", &["a"]), ("c", &["b"]), ("d", &[])]), ["d has no row"]);
        assert_eq!(found(&[("a", &[]), ("b", &["a"])]), ["there is no crate c"]);
    }

    #[test]
    fn dependencies_of_tests_do_not_count() {
        let manifest = "[package]\nname = \"millstream-x\"\n\n[dependencies]\nmillstream-a.workspace = true\nmillstream-b = { path = \"b\" }\nserde.workspace = true\n
[target.'cfg(unix)'.dependencies]\nmillstream-c.workspace = true\n\n[dev-dependencies]\nmillstream-d.workspace = true\n";
        assert_eq!(dependencies(manifest).into_iter().collect::<Vec<_>>(), ["a", "b", "c"]);
    }
}
