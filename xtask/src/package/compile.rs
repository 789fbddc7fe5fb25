//! The program and the library for C, compiled and linked with Zig: it knows the C libraries of all architectures, and of all years.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{Failure, root, run};
use crate::native::{python_tool, target_folder};
use crate::solver;

use super::target::Target;
use super::versions::GLIBC;
use super::wheels::Wheels;
use super::{folder, rust};

/// A compiler and linker for C: package, version, and a file that is there if all is.
const ZIG: (&str, &str, &str) = ("ziglang", "0.17.1", "ziglang/zig");
/// What has cargo use it.
const ZIGBUILD: (&str, &str, &str) = ("cargo-zigbuild", "0.24.0", "bin/cargo-zigbuild");

/// The Python packages that are fetched here.
#[cfg(test)]
pub(crate) fn fetched() -> impl Iterator<Item = String> {
    [ZIG, ZIGBUILD].into_iter().map(|(package, version, _)| format!("{package}=={version}"))
}

/// What is compiled.
pub(super) struct Compiled {
    pub(super) program: PathBuf,
    /// For programs in C.
    pub(super) library: PathBuf,
}

/// Compiles everything for a target.
pub(super) fn compile(target: Target, wheels: &Wheels) -> Result<Compiled, Failure> {
    python_tool(ZIG)?;
    python_tool(ZIGBUILD)?;
    let (tools, triple) = (root().join("target/millstream"), target.triple());
    let mut command = Command::new(tools.join("cargo-zigbuild").join(ZIGBUILD.2));
    command.arg("zigbuild").args(["--locked", "--profile", "dist", "--package", "millstream-cli"]);
    command.args(["--package", "millstream-c-api"]);
    command.args(["--target", &format!("{triple}.{}.{}", GLIBC.0, GLIBC.1)]).current_dir(root());
    command.envs(rust::variables(target)?).envs(variables(target, wheels, &tools));
    run(&mut command)?;
    let folder = target_folder().join(triple).join("dist");
    Ok(Compiled { program: folder.join("millstream"), library: folder.join("libmillstream.so") })
}

fn variables(target: Target, wheels: &Wheels, tools: &Path) -> Vec<(String, OsString)> {
    let (triple, caches) = (target.triple(), folder().join("zig"));
    let underscored = triple.replace('-', "_");
    let zig = tools.join("ziglang/ziglang");
    // The solver is looked for beside the program and the library, as the engines are.
    let linked = "-C link-arg=-Wl,-rpath,$ORIGIN/../lib";
    vec![
        ("CARGO_ZIGBUILD_ZIG_PATH".to_owned(), zig.join("zig").into()),
        ("CARGO_ZIGBUILD_CACHE_DIR".to_owned(), caches.join("wrappers").into()),
        ("ZIG_GLOBAL_CACHE_DIR".to_owned(), caches.join("global").into()),
        ("ZIG_LOCAL_CACHE_DIR".to_owned(), caches.join("local").into()),
        (format!("CARGO_TARGET_{}_RUSTFLAGS", underscored.to_uppercase()), linked.into()),
        ("PKG_CONFIG_ALLOW_CROSS".to_owned(), "1".into()),
        (format!("PKG_CONFIG_{underscored}"), solver::pkg_config().into()),
        (format!("PKG_CONFIG_PATH_{underscored}"), wheels.highs_description.clone().into()),
        (format!("BINDGEN_EXTRA_CLANG_ARGS_{triple}"), headers(target, &zig.join("lib")).into()),
    ]
}

/// Where libclang finds Zig's headers of the C library: `cargo-zigbuild` says it too, but by paths from this folder, where build scripts do
/// not run. The name with dashes comes before its own.
fn headers(target: Target, library: &Path) -> String {
    let architecture = target.headers();
    let own = [format!("{architecture}-linux-gnu"), "generic-glibc".to_owned(), format!("{architecture}-linux-any")];
    let libc = own.into_iter().chain(["any-linux-any".to_owned()]).map(|name| library.join("libc/include").join(name));
    let folders = std::iter::once(library.join("include")).chain(libc);
    let quoted = folders.map(|folder| format!(" -isystem '{}'", folder.display()));
    format!("-nostdinc{}", quoted.collect::<String>())
}
