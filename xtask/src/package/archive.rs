//! A laid out package as one file, and what it is recognised by.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{Failure, capture};
use crate::folders::root;

use super::layout::package_folder;
use crate::files::failed;

/// Packs it as `.tar.gz`, with its checksum beside it. Of the same content it makes the same bytes.
pub(super) fn tarball(unpacked: &Path) -> Result<PathBuf, Failure> {
    let name = unpacked.file_name().unwrap_or_default();
    let tarball = package_folder().join(format!("{}.tar.gz", name.to_string_lossy()));
    pack(unpacked, &tarball, time_of_commit())?;
    checksum(&tarball)?;
    Ok(tarball)
}

/// Packs a folder by its name, with all of it changed at this time, in seconds since 1970.
fn pack(unpacked: &Path, tarball: &Path, time: u64) -> Result<(), Failure> {
    let (parent, name) = (unpacked.parent().unwrap_or(unpacked), unpacked.file_name().unwrap_or_default());
    let mut tar = Command::new("tar");
    tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mode=u=rwX,go=rX"]);
    tar.arg(format!("--mtime=@{time}")).args(["--use-compress-program", "gzip -9n", "--create"]);
    capture(tar.arg("--file").arg(tarball).arg("--directory").arg(parent).arg(name)).map(drop)
}

/// When what is packed was last changed, in seconds since 1970; 0 outside a repository.
fn time_of_commit() -> u64 {
    let told = capture(Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(root()));
    told.ok().and_then(|seconds| seconds.trim().parse().ok()).unwrap_or_default()
}

/// Writes the SHA-256 of a file beside it, for `sha256sum --check`.
pub(super) fn checksum(file: &Path) -> Result<(), Failure> {
    let name = file.file_name().unwrap_or_default();
    let sum = capture(Command::new("sha256sum").arg(name).current_dir(file.parent().unwrap_or(file)))?;
    let beside = beside(file);
    fs::write(&beside, sum).map_err(|error| failed(&beside, &error))
}

/// Fails if a file is not what its checksum says.
pub(super) fn check(file: &Path) -> Result<(), Failure> {
    let mut command = Command::new("sha256sum");
    command.args(["--check", "--strict", "--quiet"]).arg(beside(file));
    capture(command.current_dir(file.parent().unwrap_or(file))).map(drop)
}

/// Where the checksum of a file is: `deploy` looks for it there as well.
fn beside(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".sha256");
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    /// Files of a package that come into being in one order or the other.
    fn lay_out(folder: &Path, is_backwards: bool) -> Result<(), Failure> {
        let mut numbers: Vec<u32> = (0..40).collect();
        if is_backwards {
            numbers.reverse();
        }
        let write = |number: &u32| fs::write(folder.join(format!("{number}")), format!("content {number}"));
        let written = fs::create_dir_all(folder).and_then(|()| numbers.iter().try_for_each(write));
        written.map_err(|error| failed(folder, &error))
    }

    #[test]
    fn of_the_same_content_it_makes_the_same_bytes() {
        let told = || -> Result<(bool, bool, String), Failure> {
            let scratch = Scratch::new("archive-test")?;
            let packed = |name: &str, is_backwards: bool| -> Result<Vec<u8>, Failure> {
                let folder = scratch.path().join(name).join("millstream");
                lay_out(&folder, is_backwards)?;
                let file = scratch.path().join(format!("{name}.tar.gz"));
                pack(&folder, &file, 1_700_000_000)?;
                fs::read(&file).map_err(|error| failed(&file, &error))
            };
            let is_same = packed("one", false)? == packed("two", true)?;
            // On some file systems the order in a folder is always the same, so it is looked at itself.
            let list = capture(Command::new("tar").arg("-tf").arg(scratch.path().join("one.tar.gz")))?;
            let verbose = Command::new("tar")
                .args(["-tv", "--utc", "--numeric-owner", "-f"])
                .arg(scratch.path().join("one.tar.gz"))
                .output();
            let verbose = verbose.map_err(|error| failed(scratch.path(), &error))?;
            Ok((is_same, list.lines().is_sorted(), String::from_utf8_lossy(&verbose.stdout).into_owned()))
        };
        let (is_same, is_sorted, list) = told().unwrap_or_else(|Failure(message)| (false, false, message));
        assert!(is_same && is_sorted, "{list}");
        let is_of_root = |line: &str| line.contains(" 0/0 ") && line.contains("2023-11-14 22:13");
        assert!(list.lines().count() == 41 && list.lines().all(is_of_root), "{list}");
    }

    #[test]
    fn a_file_that_changed_is_noticed() {
        let told = || -> Result<[bool; 3], Failure> {
            let scratch = Scratch::new("checksum-test")?;
            let file = scratch.path().join("a.tar.gz");
            let write = |text: &str| fs::write(&file, text).map_err(|error| failed(&file, &error));
            write("one")?;
            let without = check(&file).is_err();
            checksum(&file)?;
            let sound = check(&file).is_ok();
            write("two")?;
            Ok([without, sound, check(&file).is_err()])
        };
        assert_eq!(told().map_err(|Failure(message)| message), Ok([true; 3]));
    }
}
