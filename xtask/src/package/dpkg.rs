//! Debian's own tool for packages, which installs one into a folder that it takes for a system, and needs no rights for
//! that.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::command::{Failure, capture};
use crate::cross::Target;

use crate::files::failed;

/// What releases of Debian have that the package depends on: the oldest and the newest that it is for. Names of libgcc
/// differ.
const RELEASES: [[(&str, &str); 4]; 2] = [
    [("libc6", "2.28-10"), ("libgcc1", "1:8.3.0-6"), ("libstdc++6", "8.3.0-6"), ("zlib1g", "1:1.2.11.dfsg-1")],
    [("libc6", "2.41-12"), ("libgcc-s1", "14.2.0-19"), ("libstdc++6", "14.2.0-19"), ("zlib1g", "1:1.3.1-1")],
];
/// A C library that is older than what the package needs.
const TOO_OLD: (&str, &str) = ("libc6", "2.27-3");

/// Installs a package into a folder where nothing is but the records of the oldest Debian that it is for.
pub(super) fn install(target: Target, deb: &Path, system: &Path) -> Result<(), Failure> {
    lay_out(target, system, &RELEASES[0])?;
    dpkg(target, deb, system)
}

/// Fails if a package can't be installed on a release of Debian, or can where one of what it needs is missing or too
/// old. For that its records will do.
pub(super) fn check_dependencies(target: Target, control: &str, folder: &Path) -> Result<(), Failure> {
    let (tree, deb) = (folder.join("records"), folder.join("records.deb"));
    let file = tree.join("DEBIAN/control");
    let parent = file.parent().unwrap_or(&tree);
    fs::create_dir_all(parent).and_then(|()| fs::write(&file, control)).map_err(|error| failed(&file, &error))?;
    capture(Command::new("dpkg-deb").args(["--root-owner-group", "--build"]).arg(&tree).arg(&deb))?;
    let install = |number: usize, packages: &[(&str, &str)]| {
        let system = folder.join(format!("system-{number}"));
        let _ = fs::remove_dir_all(&system);
        lay_out(target, &system, packages)?;
        dpkg(target, &deb, &system)
    };
    for release in RELEASES {
        install(0, &release)?;
        for (number, (name, _)) in release.iter().enumerate() {
            let without: Vec<_> = release.iter().copied().filter(|(own, _)| own != name).collect();
            must_fail(install(1 + number, &without), &format!("without {name}"))?;
        }
    }
    let [_, others @ ..] = RELEASES[0];
    must_fail(install(9, &[&[TOO_OLD][..], &others].concat()), &format!("with {} {}", TOO_OLD.0, TOO_OLD.1))
}

/// Fails if dpkg has not refused what depends on something that is not there.
fn must_fail(result: Result<(), Failure>, how: &str) -> Result<(), Failure> {
    match result {
        Err(Failure(message)) if message.contains("dependency problems") => Ok(()),
        Err(failure) => Err(failure),
        Ok(()) => Err(Failure(format!("the Debian package can be installed {how}: look at its dependencies"))),
    }
}

/// A system of which there is nothing but records: what is installed, and for which architecture.
fn lay_out(target: Target, system: &Path, packages: &[(&str, &str)]) -> Result<(), Failure> {
    let records = system.join("var/lib/dpkg");
    for part in ["info", "updates", "triggers"].map(|name| records.join(name)) {
        fs::create_dir_all(&part).map_err(|error| failed(&part, &error))?;
    }
    let architecture = target.debian();
    let record = |(name, version): &(&str, &str)| {
        format!(
            "Package: {name}\nStatus: install ok installed\nArchitecture: {architecture}\nMulti-Arch: same\n\
             Maintainer: Debian\nVersion: {version}\nDescription: a library\n\n"
        )
    };
    let (status, known) = (records.join("status"), records.join("arch"));
    fs::write(&status, packages.iter().map(record).collect::<String>()).map_err(|error| failed(&status, &error))?;
    // This computer's own as well, which dpkg can't do without.
    let own = Target::own()?.debian();
    fs::write(&known, format!("{own}\n{architecture}\n")).map_err(|error| failed(&known, &error))
}

fn dpkg(target: Target, deb: &Path, system: &Path) -> Result<(), Failure> {
    let mut command = Command::new("dpkg");
    command.arg("--root").arg(system).arg(format!("--log={}", system.join("dpkg.log").display()));
    command.args(["--force-not-root", "--force-bad-path", "--install"]).arg(deb).env("LC_ALL", "C");
    capture(&mut command).map(drop).map_err(|Failure(message)| {
        Failure(format!("{message}\n\nthe Debian package for {} can't be installed", target.debian()))
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::print_stderr, reason = "a test that is left out says so")]

    use super::super::deb::description;
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn what_the_package_depends_on_is_what_it_needs() {
        if capture(Command::new("dpkg").arg("--version")).is_err() {
            eprintln!("left out: there is no dpkg");
            return;
        }
        let told = |target: Target, from: &str, to: &str| -> Result<(), String> {
            let check = || {
                let scratch = Scratch::new("dpkg-test")?;
                check_dependencies(target, &description(target, 1).replace(from, to), scratch.path())
            };
            check().map_err(|Failure(message)| message)
        };
        assert_eq!(told(Target::X86_64, "", ""), Ok(()));
        assert_eq!(told(Target::Aarch64, "", ""), Ok(()));
        for (from, to, fault) in [
            (", zlib1g", "", "without zlib1g"),
            (" (>= 2.28)", "", "with libc6 2.27-3"),
            ("libgcc-s1 | libgcc1", "libgcc1", "can't be installed"),
            ("2.28", "2.29", "can't be installed"),
        ] {
            assert!(told(Target::X86_64, from, to).is_err_and(|told| told.contains(fault)), "{fault}");
        }
    }
}
