//! Zig compiles and links C for any architecture and against any C library: what is made with it runs on old systems as
//! well.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::Failure;
use crate::folders::root;
use crate::python::python_tool;

use super::target::{GLIBC, Target};
use super::{fetched_folder, rust};

/// A compiler and linker for C: package, version, and a file that is there if all is.
const ZIG: (&str, &str, &str) = ("ziglang", "0.17.1", "ziglang/zig");
/// What has cargo use it.
const ZIGBUILD: (&str, &str, &str) = ("cargo-zigbuild", "0.24.0", "bin/cargo-zigbuild");

/// The Python packages that are fetched here.
#[cfg(test)]
pub(crate) fn fetched() -> impl Iterator<Item = String> {
    [ZIG, ZIGBUILD].into_iter().map(|(package, version, _)| format!("{package}=={version}"))
}

/// The program that runs cargo with Zig, fetched if it is not there yet.
pub(crate) fn cargo_zigbuild() -> Result<PathBuf, Failure> {
    python_tool(ZIGBUILD)?;
    Ok(root().join("target/millstream").join(ZIGBUILD.0).join(ZIGBUILD.2))
}

/// The folder of Zig, fetched if it is not there yet.
pub(crate) fn zig() -> Result<PathBuf, Failure> {
    python_tool(ZIG)?;
    Ok(root().join("target/millstream").join(ZIG.0).join("ziglang"))
}

/// The compiler of C for a target.
pub(crate) fn compiler(target: Target) -> Result<Command, Failure> {
    let mut command = Command::new(zig()?.join("zig"));
    let triple = format!("{}-linux-gnu.{}.{}", target.name(), GLIBC.0, GLIBC.1);
    command.args(["cc", "-target", &triple]).envs(caches());
    Ok(command)
}

/// Where Zig keeps what it compiles of its own.
fn caches() -> [(String, OsString); 2] {
    let of = |name: &str| fetched_folder().join("zig").join(name).into();
    [("ZIG_GLOBAL_CACHE_DIR".to_owned(), of("global")), ("ZIG_LOCAL_CACHE_DIR".to_owned(), of("local"))]
}

/// Variables for whatever runs cargo with Zig for a target. Fetches Zig, and a compiler with the target's standard
/// library, if they are not there yet.
pub(crate) fn variables(target: Target) -> Result<Vec<(String, OsString)>, Failure> {
    let zig = zig()?;
    let mut variables = vec![
        ("CARGO_ZIGBUILD_ZIG_PATH".to_owned(), zig.join("zig").into()),
        ("CARGO_ZIGBUILD_CACHE_DIR".to_owned(), fetched_folder().join("zig/wrappers").into()),
        (format!("BINDGEN_EXTRA_CLANG_ARGS_{}", target.triple()), headers(target, &zig.join("lib")).into()),
    ];
    variables.extend(caches());
    variables.extend(rust::variables(target)?.into_iter().map(|(name, value)| (name.to_owned(), value)));
    Ok(variables)
}

/// Where libclang finds Zig's headers of the C library: `cargo-zigbuild` says it too, but by paths from this folder,
/// where build scripts do not run. The name with dashes comes before its own.
fn headers(target: Target, library: &Path) -> String {
    let architecture = target.headers();
    let own = [format!("{architecture}-linux-gnu"), "generic-glibc".to_owned(), format!("{architecture}-linux-any")];
    let libc = own.into_iter().chain(["any-linux-any".to_owned()]).map(|name| library.join("libc/include").join(name));
    let folders = std::iter::once(library.join("include")).chain(libc);
    let quoted = folders.map(|folder| format!(" -isystem '{}'", folder.display()));
    format!("-nostdinc{}", quoted.collect::<String>())
}
