//! What Debian's own tools want to know of a package beside its files: how much room it takes, its checksums, and its
//! licences.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{Failure, capture};
use crate::files::{below, failed};
use crate::folders::root;

use super::layout::PLACE;

/// What is below it is no part of what is installed.
const CONTROL: &str = "DEBIAN";
/// Where every package says what its licences are.
const COPYRIGHT: &str = "usr/share/doc/millstream/copyright";

/// Says what the licences are.
pub(super) fn write_copyright(tree: &Path) -> Result<(), Failure> {
    let licence = root().join("LICENSE-MIT");
    let mit = fs::read_to_string(&licence).map_err(|error| failed(&licence, &error))?;
    let text = format!(
        "Millstream is under the MIT licence or the Apache licence 2.0, as you like:\n/usr/share/common-licenses/Apache-2.0, or what stands \
         below. Programs and\nlibraries of others that are inside have licences of their own, which are in\n/{PLACE}/share/doc/millstream/licences.\n\n\
         {mit}"
    );
    let file = tree.join(COPYRIGHT);
    fs::write(&file, text).map_err(|error| failed(&file, &error))
}

/// Writes the checksums of all files, and returns how much room they take, in KiB.
pub(super) fn write_checksums(tree: &Path) -> Result<u64, Failure> {
    let files = files(tree)?;
    let mut kib = 0;
    for file in &files {
        let size = fs::metadata(file).map_err(|error| failed(file, &error))?.size();
        kib += size.div_ceil(1024);
    }
    let below = files.iter().map(|file| file.strip_prefix(tree).unwrap_or(file));
    let sums = capture(Command::new("md5sum").arg("--").args(below).current_dir(tree))?;
    let place = tree.join(CONTROL).join("md5sums");
    fs::write(&place, sums).map_err(|error| failed(&place, &error))?;
    Ok(kib)
}

/// Fails if an unpacked package is not what its checksums say, or does not say what its licences are.
pub(super) fn check(deb: &Path, unpacked: &Path) -> Result<(), Failure> {
    let control = unpacked.join(CONTROL);
    capture(Command::new("dpkg-deb").arg("--control").arg(deb).arg(&control))?;
    let sums = Path::new(CONTROL).join("md5sums");
    capture(Command::new("md5sum").args(["--check", "--strict", "--quiet"]).arg(sums).current_dir(unpacked))?;
    let copyright = unpacked.join(COPYRIGHT);
    fs::metadata(&copyright).map(drop).map_err(|error| failed(&copyright, &error))
}

/// Regular files of a package that are installed.
fn files(tree: &Path) -> Result<Vec<PathBuf>, Failure> {
    let control = tree.join(CONTROL);
    let is_installed = |path: &PathBuf| !path.starts_with(&control) && !path.is_symlink();
    Ok(below(tree)?.into_iter().filter(is_installed).collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn what_is_installed_has_a_size_and_checksums() {
        let tree = Scratch::new("deb-records").map_err(|Failure(message)| message).unwrap();
        for folder in [CONTROL, "usr/share/doc/millstream"] {
            fs::create_dir_all(tree.path().join(folder)).unwrap();
        }
        fs::write(tree.path().join("usr/one"), vec![0; 1025]).unwrap();
        fs::write(tree.path().join(CONTROL).join("control"), "Package: millstream").unwrap();
        std::os::unix::fs::symlink("one", tree.path().join("usr/two")).unwrap();
        assert_eq!(write_checksums(tree.path()).map_err(|Failure(message)| message), Ok(2));
        let sums = fs::read_to_string(tree.path().join(CONTROL).join("md5sums")).unwrap();
        assert_eq!((sums.lines().count(), sums.ends_with("  usr/one\n")), (1, true), "{sums}");
    }
}
