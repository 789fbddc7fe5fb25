//! What each crate pulls in, as the table in CONTRIBUTING.md says.

use std::collections::BTreeSet;
use std::fs;

use crate::command::{Failure, capture, cargo, crates, package};
use crate::folders::root;
use crate::light::native_packages;
use crate::node;

const FILE: &str = "CONTRIBUTING.md";
const HEADER: &str = "| crate | packages of others | native code |\n|---|---|---|\n";
/// Crates whose features can be left out.
const WITH_FEATURES: [&str; 5] = ["api", "cli", "mapping", "pipeline", "tune"];

/// The crate that is a workspace of its own.
const APART: &str = "node";

/// Compares the table with what cargo says.
pub(crate) fn check() -> Result<(), Failure> {
    let text = fs::read_to_string(root().join(FILE)).map_err(|error| Failure(format!("{FILE}: {error}")))?;
    let expected = table()?;
    if text.contains(&expected) {
        return Ok(());
    }
    Err(Failure(format!("the table of what crates pull in is out of date; put this into {FILE}:\n\n{expected}")))
}

/// The table: how many packages of others a crate needs to be built, and which of them bind or build native code.
fn table() -> Result<String, Failure> {
    let mut table = HEADER.to_owned();
    for name in &crates()? {
        table.push_str(&row(name, name, &[])?);
        if WITH_FEATURES.contains(&name.as_str()) {
            table.push_str(&row(name, &format!("{name} without features"), &["--no-default-features"])?);
        }
    }
    Ok(table)
}

fn row(name: &str, label: &str, features: &[&str]) -> Result<String, Failure> {
    // The same everywhere, whatever machine this is.
    let options = ["--edges", "normal,build", "--prefix", "none", "--target", "x86_64-unknown-linux-gnu"];
    let mut command = cargo();
    command.args(["tree", "--package", &package(name)]).args(options).args(features);
    if name == APART {
        command.args(["--manifest-path", node::MANIFEST]);
    }
    let tree = capture(&mut command)?;
    let others: BTreeSet<&str> = tree
        .lines()
        .filter_map(|line| line.split(" (").next())
        .filter(|package| !package.is_empty() && !package.starts_with("millstream"))
        .collect();
    let native = native_packages(&tree);
    let native = if native.is_empty() { "none".to_owned() } else { native.join(", ") };
    Ok(format!("| {label} | {} | {native} |\n", others.len()))
}
