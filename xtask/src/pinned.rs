//! Python packages as they were when their versions were chosen: each file that may come is known by its SHA-256.

use std::fs;
use std::path::{Path, PathBuf};

use crate::command::Failure;
use crate::folders::root;

/// Names, versions and hashes, as pip reads them.
const HASHES: &str = include_str!("../python/hashes.txt");

/// Writes the file from which pip installs these packages, given as `name==version`, and no others.
pub(crate) fn requirements(packages: &[&str]) -> Result<PathBuf, Failure> {
    let lines = packages.iter().map(|package| of_package(HASHES, package)).collect::<Result<Vec<_>, _>>()?;
    let folder = root().join("target/millstream/requirements");
    let name = packages.first().and_then(|package| package.split("==").next()).unwrap_or("none");
    let file = folder.join(format!("{name}.txt"));
    let write = |folder: &Path| fs::create_dir_all(folder).and_then(|()| fs::write(&file, lines.concat()));
    write(&folder).map_err(|error| Failure(format!("cannot write {}: {error}", file.display())))?;
    Ok(file)
}

/// What the list says of a package: its line and those that it goes on with.
fn of_package(list: &str, package: &str) -> Result<String, Failure> {
    let wanted = package.replace('_', "-");
    let begins = |line: &&str| line.split_whitespace().next() == Some(wanted.as_str());
    let lines: Vec<&str> = list.lines().skip_while(|line| !begins(line)).collect();
    let rest = lines.iter().skip(1).take_while(|line| line.starts_with(' ')).count();
    if rest == 0 {
        let message = "has no hash in xtask/python/hashes.txt, whose first lines say how it is made";
        return Err(Failure(format!("the Python package {package} {message}")));
    }
    Ok(lines[..=rest].iter().map(|line| format!("{line}\n")).collect())
}

#[cfg(test)]
mod tests {
    use super::{HASHES, of_package};

    #[test]
    fn a_package_is_found_with_its_hashes_alone() {
        let list = "one==1 \\\n    --hash=sha256:a \\\n    --hash=sha256:b\nml-two==2 \\\n    --hash=sha256:c\n";
        let found = |package| of_package(list, package).ok();
        assert_eq!(found("one==1").as_deref(), Some("one==1 \\\n    --hash=sha256:a \\\n    --hash=sha256:b\n"));
        assert_eq!(found("ml_two==2").as_deref(), Some("ml-two==2 \\\n    --hash=sha256:c\n"));
        assert_eq!(found("one==2"), None);
        assert_eq!(found("three==1"), None);
    }

    #[test]
    fn every_package_that_is_fetched_has_hashes() {
        let fetched = crate::native::fetched().chain(crate::solver::fetched()).chain(crate::conformance::fetched());
        let fetched =
            fetched.chain(crate::wheel::fetched()).chain(crate::plugin::fetched()).chain(crate::book::fetched());
        let fetched = fetched.chain(crate::node::fetched());
        let missing: Vec<String> = fetched.filter(|package| of_package(HASHES, package).is_err()).collect();
        assert_eq!(missing, Vec::<String>::new());
    }
}
