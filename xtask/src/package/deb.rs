//! A laid out package as one of Debian: below `/usr/lib/millstream`, with links where the system looks for commands,
//! manual pages, completions and headers.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{Failure, capture};
use crate::cross::{GLIBC, Target};

use super::archive::checksum;
use super::contents::{EXPECTED, pkg_config};
use super::deb_records;
use super::layout::{PLACE, VERSION, package_folder};
use crate::files::failed;

/// Folders of the package, and where each file of them is linked below `usr`.
const LINKED: [(&str, &str); 7] = [
    ("bin", "bin"),
    ("include", "include"),
    ("share/doc", "share/doc"),
    ("share/man/man1", "share/man/man1"),
    ("share/bash-completion/completions", "share/bash-completion/completions"),
    ("share/zsh/site-functions", "share/zsh/vendor-completions"),
    ("share/fish/vendor_completions.d", "share/fish/vendor_completions.d"),
];
/// Debian's oldest release that it is for has a `dpkg` that reads this, and what newer ones pack by default is read by
/// newer ones only.
const COMPRESSION: &str = "xz";

/// Packs it, with its checksum beside it.
pub(super) fn deb(target: Target, unpacked: &Path) -> Result<PathBuf, Failure> {
    let tree = package_folder().join(target.name()).join("deb");
    let _ = fs::remove_dir_all(&tree);
    let (control, own) = (tree.join("DEBIAN"), tree.join(PLACE));
    let parent = own.parent().unwrap_or(&tree);
    for part in [&control, parent] {
        fs::create_dir_all(part).map_err(|error| failed(part, &error))?;
    }
    capture(Command::new("cp").arg("--archive").arg(unpacked).arg(&own))?;
    LINKED.into_iter().try_for_each(|(from, to)| link(&tree, from, to))?;
    describe_for_c(&tree.join(libraries(target)).join("pkgconfig"))?;
    deb_records::write_copyright(&tree)?;
    let kib = deb_records::write_checksums(&tree)?;
    fs::write(control.join("control"), description(target, kib)).map_err(|error| failed(&control, &error))?;
    let deb = package_folder().join(format!("millstream_{VERSION}_{}.deb", target.debian()));
    let options = ["--root-owner-group", &format!("-Z{COMPRESSION}"), "--build"];
    capture(Command::new("dpkg-deb").args(options).arg(&tree).arg(&deb))?;
    check_compression(&deb)?;
    checksum(&deb)?;
    Ok(deb)
}

/// Links that a system has where the package is installed, of the files that every package has.
pub(super) fn expected_links() -> BTreeSet<String> {
    EXPECTED.into_iter().filter_map(expected_link).collect()
}

/// The link by which a file of the package is found, or the folder that it is in.
fn expected_link(file: &str) -> Option<String> {
    LINKED.into_iter().find_map(|(from, to)| {
        let rest = file.strip_prefix(from)?.strip_prefix('/')?;
        let name = rest.split_once('/').map_or(rest, |(folder, _)| folder);
        Some(format!("usr/{to}/{name}"))
    })
}

/// Where programs in C look for the library when they run.
pub(super) fn run_path() -> String {
    format!("/{PLACE}/lib")
}

/// Where Debian has the libraries of an architecture, and what pkg-config reads.
pub(super) fn libraries(target: Target) -> String {
    format!("usr/lib/{}-linux-gnu", target.name())
}

/// Fails if there is a part of a package that an older `dpkg` can't read.
fn check_compression(deb: &Path) -> Result<(), Failure> {
    let parts = capture(Command::new("ar").arg("t").arg(deb))?;
    match packed_otherwise(&parts) {
        None => Ok(()),
        Some(part) => Err(Failure(format!("{} has {part}, which is not packed with {COMPRESSION}", deb.display()))),
    }
}

/// The first part of a package, or what is missing of one, that is not packed as it should be.
fn packed_otherwise(parts: &str) -> Option<String> {
    let wanted = ["control", "data"].map(|part| format!("{part}.tar.{COMPRESSION}"));
    let other = parts.lines().find(|&part| part != "debian-binary" && !wanted.iter().any(|wanted| wanted == part));
    let lacks = || wanted.iter().find(|wanted| !parts.lines().any(|part| part == *wanted));
    other.map(str::to_owned).or_else(|| lacks().map(|part| format!("no {part}")))
}

/// Links whatever stands in a folder of the package into a folder below `/usr`, by paths that hold wherever that is.
fn link(tree: &Path, from: &str, to: &str) -> Result<(), Failure> {
    let (source, place) = (tree.join(PLACE).join(from), tree.join("usr").join(to));
    fs::create_dir_all(&place).map_err(|error| failed(&place, &error))?;
    let up = "../".repeat(to.split('/').count());
    let entries = fs::read_dir(&source).map_err(|error| failed(&source, &error))?;
    for name in entries.filter_map(Result::ok).map(|entry| entry.file_name()) {
        let original = format!("{up}lib/millstream/{from}/{}", name.to_string_lossy());
        std::os::unix::fs::symlink(original, place.join(&name)).map_err(|error| failed(&place, &error))?;
    }
    Ok(())
}

/// Says where pkg-config looks where the package is. A link to its own description would not do: that goes by its
/// folder. Programs remember where the library is, since the system's own linker does not look there.
fn describe_for_c(folder: &Path) -> Result<(), Failure> {
    let description = folder.join("millstream.pc");
    let text = pkg_config(&format!("/{PLACE}"), " -Wl,-rpath,${prefix}/lib");
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(&description, text))
        .map_err(|error| failed(&description, &error))
}

/// What dpkg is told of the package, which takes so much room.
pub(super) fn description(target: Target, installed_kib: u64) -> String {
    let (major, minor) = GLIBC;
    format!(
        "Package: millstream\nVersion: {VERSION}\nArchitecture: {}\nMaintainer: The Millstream developers\n\
         Section: science\nPriority: optional\nInstalled-Size: {installed_kib}\n\
         Depends: libc6 (>= {major}.{minor}), libgcc-s1 | libgcc1, libstdc++6 (>= 8), zlib1g\n\
         Description: run neural networks on all of a board's processors at once\n Measures a board, plans how to divide an ONNX network among its \
         processors, and\n streams frames through it. ONNX Runtime comes with it.\n",
        target.debian()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_a_system_looks_for_is_linked() {
        // Libraries are found from the program and by pkg-config, schemas by those who read about them.
        let is_apart = |file: &&str| file.starts_with("lib/") || file.starts_with("share/millstream/");
        for file in EXPECTED.into_iter().filter(|file| !is_apart(file)) {
            assert!(expected_link(file).is_some(), "nothing links {file}");
        }
        let links = expected_links();
        for link in ["bin/millstream", "share/doc/millstream", "share/zsh/vendor-completions/_millstream"] {
            assert!(links.contains(&format!("usr/{link}")), "{links:?}");
        }
        for (_, to) in LINKED {
            assert!(links.iter().any(|link| link.starts_with(&format!("usr/{to}/"))), "nothing is expected in {to}");
        }
    }

    #[test]
    fn parts_that_an_older_dpkg_can_not_read_are_noticed() {
        let faults = [
            "debian-binary\ncontrol.tar.xz\ndata.tar.xz\n",
            "debian-binary\ncontrol.tar.zst\ndata.tar.zst\n",
            "debian-binary\n",
        ];
        let faults = faults.map(packed_otherwise);
        assert_eq!(faults, [None, Some("control.tar.zst".to_owned()), Some("no control.tar.xz".to_owned())]);
    }
}
