//! The package that goes to the board.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};

/// The release whose package is looked for.
pub(super) const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Where `cargo xtask package` puts packages, below the folder of the repository.
const FOLDER: &str = "target/package";
/// What the names of packages end with.
const ENDING: &str = "-linux.tar.gz";
/// So many bytes of a program tell what it is for.
const HEAD: u64 = 20;
/// The architectures that there are packages for.
pub(super) const ARCHITECTURES: [&str; 2] = ["x86_64", "aarch64"];

/// The archive for an architecture: the one that is named, or the one where packages are made.
pub(super) fn choose(named: Option<&Path>, architecture: &str) -> Result<PathBuf> {
    match named {
        Some(archive) => check_architecture(archive, architecture).map(|()| archive.to_owned()),
        None => {
            let name = format!("millstream-{VERSION}-{architecture}{ENDING}");
            folders().into_iter().map(|folder| folder.join(&name)).find(|archive| archive.is_file()).with_context(|| {
                format!(
                    "there is no {FOLDER}/{name} here; `cargo xtask package --target {architecture}` in the repository makes it, --package names another one"
                )
            })
        }
    }
}

/// The caller's folder, and that of the repository, if this program was built there.
fn folders() -> Vec<PathBuf> {
    let program = std::env::current_exe().ok();
    let target = program.as_deref().and_then(|program| program.ancestors().nth(2).map(|target| target.join("package")));
    std::iter::once(PathBuf::from(FOLDER)).chain(target).collect()
}

/// Fails if a package is for another architecture, by its program, or else by its name.
fn check_architecture(archive: &Path, architecture: &str) -> Result<()> {
    let name = archive.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let by_name = || ARCHITECTURES.into_iter().find(|architecture| name.ends_with(&format!("-{architecture}{ENDING}")));
    let head = head_of_program(archive);
    if head.is_empty() && archive.is_file() {
        bail!(
            "{} is not a Millstream package: there is no bin/millstream in it; `cargo xtask package --target {architecture}` makes one",
            archive.display()
        );
    }
    if archive.is_file() {
        check_sound(archive)?;
    }
    match architecture_of(&head).or_else(by_name).filter(|&found| found != architecture) {
        Some(other) => bail!(
            "{} is for {other}, and the board is {architecture}: `cargo xtask package --target {architecture}` makes the right one",
            archive.display()
        ),
        None => Ok(()),
    }
}

/// Fails if an archive can't be unpacked, before anything of it is sent.
fn check_sound(archive: &Path) -> Result<()> {
    let mut tar = Command::new("tar");
    tar.args(["-t", "-z", "-f"]).arg(archive).stdin(Stdio::null());
    let output = tar.output().context("cannot run tar, which unpacks packages")?;
    if !output.status.success() {
        let told = String::from_utf8_lossy(&output.stderr).trim().replace('\n', ", ");
        bail!("{} is damaged or cut off: {told}; make or fetch it again", archive.display());
    }
    Ok(())
}

/// The first bytes of an archive's program; nothing if there is none, or no such archive.
fn head_of_program(archive: &Path) -> Vec<u8> {
    let mut tar = Command::new("tar");
    tar.args(["-x", "-z", "-O", "-f"]).arg(archive).args(["--wildcards", "*/bin/millstream"]);
    let Ok(mut child) = tar.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn() else {
        return Vec::new();
    };
    let mut head = Vec::new();
    // What came is what there is.
    let _ = child.stdout.take().map(|pipe| pipe.take(HEAD).read_to_end(&mut head));
    let _ = child.kill();
    let _ = child.wait();
    head
}

/// The architecture of a program by its first bytes, which are those of an ELF file: what it is, and the number of its
/// machine. `None` for others.
fn architecture_of(head: &[u8]) -> Option<&'static str> {
    let machine = head.strip_prefix(b"\x7fELF").and_then(|rest| rest.get(14..16))?;
    match machine {
        [0x3e, 0] => Some("x86_64"),
        [0xb7, 0] => Some("aarch64"),
        [0xf3, 0] => Some("riscv64"),
        [0x28, 0] => Some("32-bit ARM"),
        [0x03, 0] => Some("32-bit x86"),
        _ => None,
    }
}

/// The SHA-256 of a package, as `sha256sum` writes it; where a file beside it says what it should be, it must be that.
pub(super) fn checksum(archive: &Path) -> Result<String> {
    let read = || -> std::io::Result<String> {
        let (mut file, mut hash, mut bytes) = (File::open(archive)?, Sha256::new(), vec![0; 1 << 20]);
        loop {
            match file.read(&mut bytes)? {
                0 => break,
                count => hash.update(&bytes[..count]),
            }
        }
        Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    };
    let sum = read().with_context(|| format!("cannot read {}", archive.display()))?;
    let beside = PathBuf::from(format!("{}.sha256", archive.display()));
    let said = std::fs::read_to_string(&beside).ok();
    match said.as_deref().and_then(|text| text.split_whitespace().next()) {
        Some(said) if said != sum => {
            bail!(
                "{} is not what {} says: it was cut off or changed; make or copy it anew",
                archive.display(),
                beside.display()
            )
        }
        _ => Ok(sum),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn a_package_must_be_for_the_board() {
        let named = |name: &str, architecture| choose(Some(Path::new(name)), architecture);
        assert!(named("a/millstream-0.1.0-aarch64-linux.tar.gz", "aarch64").is_ok());
        assert!(named("renamed.tar.gz", "aarch64").is_ok());
        let message = named("millstream-0.1.0-x86_64-linux.tar.gz", "aarch64").unwrap_err().to_string();
        assert!(message.contains("is for x86_64, and the board is aarch64"), "{message}");
        assert!(message.contains("package --target aarch64"), "{message}");
    }

    #[test]
    fn a_package_is_for_what_its_program_is_for() {
        let folder = tempfile::tempdir().unwrap();
        let bin = folder.path().join("package/bin");
        std::fs::create_dir_all(&bin).unwrap();
        // The head of an ELF file; what follows is more than a pipe holds.
        let mut program = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\xb7\0".to_vec();
        program.extend(vec![1; 1 << 20]);
        std::fs::write(bin.join("millstream"), program).unwrap();
        let archive = folder.path().join("millstream-0.1.0-x86_64-linux.tar.gz");
        let mut tar = Command::new("tar");
        tar.args(["-c", "-z", "-f"]).arg(&archive).arg("-C").arg(folder.path()).arg("package");
        assert!(tar.status().unwrap().success());
        assert!(choose(Some(&archive), "aarch64").is_ok(), "whatever its name says");
        // What is cut off is noticed before it is copied.
        let whole = std::fs::read(&archive).unwrap();
        let half = folder.path().join("half.tar.gz");
        std::fs::write(&half, &whole[..whole.len() - 9]).unwrap();
        let message = choose(Some(&half), "aarch64").unwrap_err().to_string();
        assert!(message.contains("half.tar.gz is damaged or cut off"), "{message}");
        // What is no package is not copied.
        let other = folder.path().join("net.onnx");
        std::fs::write(&other, "no archive").unwrap();
        let message = choose(Some(&other), "aarch64").unwrap_err().to_string();
        assert!(message.contains("net.onnx is not a Millstream package"), "{message}");
        let message = choose(Some(&archive), "x86_64").unwrap_err().to_string();
        assert!(message.contains("is for aarch64, and the board is x86_64"), "{message}");
    }

    #[test]
    fn programs_are_told_apart_by_their_heads() {
        let head = |machine: u8| [&b"\x7fELF"[..], &[0; 14], &[machine, 0]].concat();
        assert_eq!(
            [0x3e, 0xb7, 0x28, 0xff].map(|machine| architecture_of(&head(machine))),
            [Some("x86_64"), Some("aarch64"), Some("32-bit ARM"), None]
        );
        assert_eq!([&head(0x3e)[..19], b"#!/bin/sh\nexec something\n", b""].map(architecture_of), [None; 3]);
    }

    #[test]
    fn a_package_that_was_cut_off_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let archive = folder.path().join("package.tar.gz");
        std::fs::write(&archive, "abc").unwrap();
        // FIPS 180-2, appendix B.1.
        let sum = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(checksum(&archive).unwrap(), sum);
        let beside = folder.path().join("package.tar.gz.sha256");
        std::fs::write(&beside, format!("{sum}  package.tar.gz\n")).unwrap();
        assert_eq!(checksum(&archive).unwrap(), sum);
        std::fs::write(&archive, "ab").unwrap();
        assert!(checksum(&archive).unwrap_err().to_string().contains("cut off"));
        assert!(checksum(&folder.path().join("none")).unwrap_err().to_string().contains("none"));
    }
}
