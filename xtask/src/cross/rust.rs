//! A compiler with the standard library of the architecture that a package is for.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{Failure, capture};
use crate::folders::root;

use super::debian::{self, Packages};
use super::fetched_folder;
use super::target::Target;

/// Variables for a cargo that compiles for the target: none where the compiler at hand can do that; else those of the
/// compiler that Debian keeps current for browsers, with its library for the other architecture, in a folder of ours.
/// The compiler at hand may be others' as well, so nothing is added to it.
pub(super) fn variables(target: Target) -> Result<Vec<(&'static str, OsString)>, Failure> {
    let triple = target.triple();
    if has_library(&triple) {
        return Ok(Vec::new());
    }
    let sysroot = fetched_folder().join("rust");
    from_debian(target, &sysroot)?;
    let libraries = sysroot.join("usr/lib").join(format!("{}-linux-gnu", std::env::consts::ARCH));
    let variables = vec![("RUSTC", sysroot.join("usr/bin/rustc").into()), ("LD_LIBRARY_PATH", libraries.into())];
    let version = capture(Command::new(sysroot.join("usr/bin/rustc")).arg("--version").envs(variables.clone()))?;
    eprintln!("compiling with {}", version.trim());
    Ok(variables)
}

/// Whether the compiler at hand has the standard library of a target.
fn has_library(triple: &str) -> bool {
    let mut command = Command::new("rustc");
    command.args(["--print", "target-libdir", "--target", triple]).current_dir(root());
    capture(&mut command).is_ok_and(|folder| has_standard_library(Path::new(folder.trim())))
}

fn has_standard_library(folder: &Path) -> bool {
    let files = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok).map(|entry| entry.path());
    let is_library = |file: PathBuf| {
        let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        name.starts_with("libstd-") && name.ends_with(".rlib")
    };
    files.into_iter().any(is_library)
}

fn from_debian(target: Target, sysroot: &Path) -> Result<(), Failure> {
    let own = Target::own()?;
    // The compiler and its libraries; that of LLVM has its release in its name.
    let compiler = Packages {
        architecture: own.debian(),
        release: None,
        names: &["rustc-web"],
        with: &["libstd-rust", "libllvm"],
    };
    let library = Packages { architecture: target.debian(), release: None, names: &["libstd-rust-web-dev"], with: &[] };
    debian::unpack(&compiler, sysroot).and_then(|()| debian::unpack(&library, sysroot)).map_err(|Failure(reason)| {
        Failure(format!(
            "there is no Rust library for {0}: the compiler at hand has none, and Debian's could not be fetched: {reason}\nWith rustup, add it yourself: rustup target add {0}",
            target.triple()
        ))
    })
}
