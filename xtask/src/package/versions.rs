//! What the files of a package need of the system they come to, as `readelf` tells it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::command::{Failure, capture};
use crate::cross::{GLIBC, Target};

use super::layout;
use crate::files::failed;

/// What every system has that the package is for.
const OF_THE_SYSTEM: [&str; 9] = [
    "ld-linux",
    "libc.so.6",
    "libdl.so.2",
    "libgcc_s.so.1",
    "libm.so.6",
    "libpthread.so.0",
    "librt.so.1",
    "libstdc++.so.6",
    "libz.so.1",
];

/// Versions of the system's libraries: what their names begin with, what the library is called, and the newest that may
/// be needed: what Debian 10 has.
const LIMITS: [(&str, &str, [u32; 3]); 4] = [
    ("GLIBC_", "glibc", [GLIBC.0, GLIBC.1, 0]),
    ("GLIBCXX_", "libstdc++", [3, 4, 25]),
    ("CXXABI_", "the C++ interface", [1, 3, 11]),
    ("GCC_", "libgcc", [7, 0, 0]),
];

/// Fails if the program or a library is for another architecture, needs a newer library of the system, or one that is
/// neither in the package nor in every system.
pub(super) fn check(target: Target, unpacked: &Path) -> Result<(), Failure> {
    let libraries = unpacked.join("lib");
    let entries = fs::read_dir(&libraries).map_err(|error| failed(&libraries, &error))?;
    let paths = entries.filter_map(Result::ok).map(|entry| entry.path());
    let files: Vec<_> = paths.filter(|path| path.is_file()).collect();
    let packaged: Vec<String> =
        files.iter().filter_map(|file| Some(file.file_name()?.to_string_lossy().into_owned())).collect();
    for file in std::iter::once(&unpacked.join("bin/millstream")).chain(&files) {
        let told = readelf(file)?;
        fault(&told, target, &packaged).map_or(Ok(()), |fault| Err(Failure(format!("{} {fault}", file.display()))))?;
    }
    check_name(&readelf(&libraries.join(layout::LIBRARY))?, &layout::soname())
}

/// Fails if the library for C does not call itself so that programs find it by its version.
fn check_name(told: &str, wanted: &str) -> Result<(), Failure> {
    let names = told.lines().filter(|line| line.contains("(SONAME)"));
    let own = names.filter_map(|line| line.split_once('[')?.1.strip_suffix(']')).next().unwrap_or("nothing");
    if own == wanted {
        Ok(())
    } else {
        Err(Failure(format!("the library for C calls itself {own}, and programs look for {wanted}")))
    }
}

fn readelf(file: &Path) -> Result<String, Failure> {
    let options = ["--wide", "--file-header", "--dynamic", "--version-info"];
    capture(Command::new("readelf").args(options).arg(file).env("LC_ALL", "C"))
}

/// What keeps a file from being part of a package.
fn fault(told: &str, target: Target, packaged: &[String]) -> Option<String> {
    let machine = told.lines().find_map(|line| line.trim().strip_prefix("Machine:")).unwrap_or("nothing").trim();
    if !machine.ends_with(target.elf()) {
        return Some(format!("is for {machine}, not for {}", target.elf()));
    }
    for (prefix, name, limit) in LIMITS {
        if let Some(version) = newest(told, prefix).filter(|&version| version > limit) {
            return Some(format!("needs {name} {}, which is newer than {}", dotted(version), dotted(limit)));
        }
    }
    let is_there = |name: &&str| {
        OF_THE_SYSTEM.iter().any(|known| name.starts_with(known)) || packaged.iter().any(|known| known == name)
    };
    let missing = needed(told).into_iter().find(|name| !is_there(name))?;
    Some(format!("needs {missing}, which is neither in the package nor in every system"))
}

/// The newest version of a library that a symbol is bound to, of those whose names begin so.
fn newest(told: &str, prefix: &str) -> Option<[u32; 3]> {
    let needs = told.split_once("Version needs section").map_or("", |(_, needs)| needs);
    let names = needs.split_whitespace().filter_map(|word| word.strip_prefix(prefix));
    let version = |name: &str| {
        let parts: Vec<u32> = name.split('.').map(str::parse).collect::<Result<_, _>>().ok()?;
        (parts.len() <= 3).then(|| [0, 1, 2].map(|place| parts.get(place).copied().unwrap_or_default()))
    };
    names.filter_map(version).max()
}

fn dotted(version: [u32; 3]) -> String {
    version.map(|part| part.to_string()).join(".")
}

/// The libraries that it is linked with.
fn needed(told: &str) -> BTreeSet<&str> {
    let lines = told.lines().filter(|line| line.contains("(NEEDED)"));
    lines.filter_map(|line| line.split_once('[')?.1.strip_suffix(']')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOLD: &str = "\
ELF Header:
  Machine:                           Advanced Micro Devices X86-64
Dynamic section at offset 0x10 contains 3 entries:
 0x0000000000000001 (NEEDED)             Shared library: [libhighs.so.1]
 0x0000000000000001 (NEEDED)             Shared library: [libc.so.6]
 0x000000000000001d (RUNPATH)            Library runpath: [$ORIGIN/../lib]
Version definition section '.gnu.version_d' contains 1 entry:
  000000: Rev: 1  Flags: BASE  Index: 1  Cnt: 1  Name: GLIBC_2.99
Version needs section '.gnu.version_r' contains 2 entries:
  000000: Version: 1  File: libc.so.6  Cnt: 3
  0x0010:   Name: GLIBC_2.3.4  Flags: none  Version: 3
  0x0020:   Name: GLIBC_2.28  Flags: none  Version: 4
  0x0030:   Name: GLIBC_PRIVATE  Flags: none  Version: 5
  0x0040: Version: 1  File: libstdc++.so.6  Cnt: 1
  0x0050:   Name: GLIBCXX_3.4.25  Flags: none  Version: 2
";

    fn fault_of(told: &str, target: Target, packaged: &[&str]) -> String {
        let packaged: Vec<String> = packaged.iter().map(|&name| name.to_owned()).collect();
        fault(told, target, &packaged).unwrap_or_default()
    }

    #[test]
    fn the_newest_version_that_is_needed_counts() {
        let newest = |told: &str| newest(told, "GLIBC_");
        assert_eq!(newest(TOLD), Some([2, 28, 0]), "neither what is defined nor other libraries' versions");
        assert_eq!(newest(&TOLD.replace("2.28", "2.9")), Some([2, 9, 0]), "versions are no decimal numbers");
        assert_eq!(newest(""), None);
    }

    #[test]
    fn the_library_for_c_has_its_version_in_its_name() {
        let told = " 0x000000000000000e (SONAME)             Library soname: [libmillstream.so.0.1]\n";
        assert!(check_name(told, "libmillstream.so.0.1").is_ok());
        for (told, wanted) in [(told, "libmillstream.so.0.2"), ("", "libmillstream.so.0.1")] {
            assert!(check_name(told, wanted).is_err_and(|Failure(message)| message.contains(wanted)));
        }
    }

    #[test]
    fn what_a_system_may_lack_is_refused() {
        let highs = ["libhighs.so.1"];
        assert_eq!(fault_of(TOLD, Target::X86_64, &highs), "");
        assert!(fault_of(TOLD, Target::Aarch64, &highs).contains("not for AArch64"));
        assert!(fault_of(TOLD, Target::X86_64, &[]).contains("needs libhighs.so.1"));
        let newer = TOLD.replace("GLIBC_2.3.4", "GLIBC_2.34");
        assert!(fault_of(&newer, Target::X86_64, &highs).contains("needs glibc 2.34"));
        let newer = TOLD.replace("GLIBCXX_3.4.25", "GLIBCXX_3.4.26");
        let told = fault_of(&newer, Target::X86_64, &highs);
        assert_eq!(told, "needs libstdc++ 3.4.26, which is newer than 3.4.25");
        let newer = TOLD.replace("GLIBCXX_3.4.25", "CXXABI_1.3.12");
        assert!(fault_of(&newer, Target::X86_64, &highs).contains("1.3.12, which is newer than 1.3.11"));
        let with_libgcc = |version| TOLD.replace("GLIBCXX_3.4.25", &format!("GCC_{version}"));
        assert_eq!(fault_of(&with_libgcc("7.0.0"), Target::X86_64, &highs), "");
        let told = fault_of(&with_libgcc("12.0.0"), Target::X86_64, &highs);
        assert_eq!(told, "needs libgcc 12.0.0, which is newer than 7.0.0");
        assert!(fault_of("", Target::X86_64, &highs).contains("is for nothing"));
    }
}
