//! A laid out package as one file.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{Failure, capture, root};
use crate::cross::{GLIBC, Target};

use super::contents::VERSION;
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
fn checksum(file: &Path) -> Result<(), Failure> {
    let name = file.file_name().unwrap_or_default();
    let sum = capture(Command::new("sha256sum").arg(name).current_dir(folder()))?;
    let beside = folder().join(format!("{}.sha256", name.to_string_lossy()));
    fs::write(&beside, sum).map_err(|error| failed(&beside, &error))
}

/// Packs it for Debian: below `/usr/lib/millstream`, with links where the system looks for commands, manual pages and completions.
pub(super) fn deb(target: Target, unpacked: &Path) -> Result<PathBuf, Failure> {
    let tree = folder().join(target.name()).join("deb");
    let _ = fs::remove_dir_all(&tree);
    let own = tree.join("usr/lib/millstream");
    let (control, parent) = (tree.join("DEBIAN"), tree.join("usr/lib"));
    for part in [&control, &parent] {
        fs::create_dir_all(part).map_err(|error| failed(part, &error))?;
    }
    capture(Command::new("cp").arg("--archive").arg(unpacked).arg(&own))?;
    link(&tree, "bin", "bin")?;
    link(&tree, "share/doc", "share/doc")?;
    for below in ["man/man1", "bash-completion/completions", "zsh/site-functions", "fish/vendor_completions.d"] {
        let below = format!("share/{below}");
        link(&tree, &below, &below.replace("zsh/site-functions", "zsh/vendor-completions"))?;
    }
    fs::write(control.join("control"), description(target)).map_err(|error| failed(&control, &error))?;
    let deb = folder().join(format!("millstream_{VERSION}_{}.deb", target.debian()));
    capture(Command::new("dpkg-deb").args(["--root-owner-group", "--build"]).arg(&tree).arg(&deb))?;
    checksum(&deb)?;
    Ok(deb)
}

/// Links whatever stands in a folder of the package into a folder below `/usr`, by paths that hold wherever that is.
fn link(tree: &Path, from: &str, to: &str) -> Result<(), Failure> {
    let (source, place) = (tree.join("usr/lib/millstream").join(from), tree.join("usr").join(to));
    fs::create_dir_all(&place).map_err(|error| failed(&place, &error))?;
    let up = "../".repeat(to.split('/').count());
    let entries = fs::read_dir(&source).map_err(|error| failed(&source, &error))?;
    for name in entries.filter_map(Result::ok).map(|entry| entry.file_name()) {
        let original = format!("{up}lib/millstream/{from}/{}", name.to_string_lossy());
        std::os::unix::fs::symlink(original, place.join(&name)).map_err(|error| failed(&place, &error))?;
    }
    Ok(())
}

fn description(target: Target) -> String {
    let (major, minor) = GLIBC;
    format!(
        "Package: millstream\nVersion: {VERSION}\nArchitecture: {}\nMaintainer: The Millstream developers\n\
         Section: science\nPriority: optional\n\
         Depends: libc6 (>= {major}.{minor}), libgcc-s1 | libgcc1, libstdc++6, zlib1g\n\
         Description: run neural networks on all of a board's processors at once\n Measures a board, plans how to divide an ONNX network among its \
         processors, and\n streams frames through it. ONNX Runtime comes with it.\n",
        target.debian()
    )
}
