//! A laid out package as one file, and what it is recognised by.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{Failure, capture, root};

use super::{failed, folder};

/// Packs it as `.tar.gz`, with its checksum beside it. Of the same content it makes the same bytes.
pub(super) fn tarball(unpacked: &Path) -> Result<PathBuf, Failure> {
    let name = unpacked.file_name().unwrap_or_default();
    let tarball = folder().join(format!("{}.tar.gz", name.to_string_lossy()));
    let mut tar = Command::new("tar");
    tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mode=u=rwX,go=rX"]);
    tar.arg(format!("--mtime=@{}", time_of_commit())).args(["--use-compress-program", "gzip -9n", "--create"]);
    capture(tar.arg("--file").arg(&tarball).arg("--directory").arg(folder()).arg(name))?;
    checksum(&tarball)?;
    Ok(tarball)
}

/// When what is packed was last changed, in seconds since 1970; 0 outside a repository.
fn time_of_commit() -> u64 {
    let told = capture(Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(root()));
    told.ok().and_then(|seconds| seconds.trim().parse().ok()).unwrap_or_default()
}

/// Writes the SHA-256 of a file beside it, for `sha256sum --check`.
pub(super) fn checksum(file: &Path) -> Result<(), Failure> {
    let name = file.file_name().unwrap_or_default();
    let sum = capture(Command::new("sha256sum").arg(name).current_dir(folder()))?;
    let beside = folder().join(format!("{}.sha256", name.to_string_lossy()));
    fs::write(&beside, sum).map_err(|error| failed(&beside, &error))
}
