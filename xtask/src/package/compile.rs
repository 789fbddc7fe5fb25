//! The program and the library for C, compiled and linked with Zig.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use crate::command::{Failure, run};
use crate::cross::{GLIBC, Target, zig};
use crate::folders::{root, target_folder};
use crate::solver;

use super::layout::soname;
use super::wheels::Wheels;

/// What is compiled.
pub(super) struct Compiled {
    pub(super) program: PathBuf,
    /// For programs in C.
    pub(super) library: PathBuf,
}

/// Compiles everything for a target.
pub(super) fn compile(target: Target, wheels: &Wheels) -> Result<Compiled, Failure> {
    let triple = target.triple();
    let mut command = Command::new(zig::cargo_zigbuild()?);
    command.arg("zigbuild").args(["--locked", "--profile", "dist", "--package", "millstream"]);
    command.args(["--package", "millstream-c-api"]);
    command.args(["--target", &format!("{triple}.{}.{}", GLIBC.0, GLIBC.1)]).current_dir(root());
    command.envs(zig::variables(target)?).envs(variables(target, wheels));
    run(&mut command)?;
    let folder = target_folder().join(triple).join("dist");
    Ok(Compiled { program: folder.join("millstream"), library: folder.join("libmillstream.so") })
}

/// How the solver is found: here, and beside the program and the library, as the engines are; and how the library calls
/// itself.
fn variables(target: Target, wheels: &Wheels) -> [(String, OsString); 5] {
    let underscored = target.triple().replace('-', "_");
    let linked = "-C link-arg=-Wl,-rpath,$ORIGIN/../lib";
    [
        (format!("CARGO_TARGET_{}_RUSTFLAGS", underscored.to_uppercase()), linked.into()),
        ("PKG_CONFIG_ALLOW_CROSS".to_owned(), "1".into()),
        (format!("PKG_CONFIG_{underscored}"), solver::pkg_config().into()),
        (format!("PKG_CONFIG_PATH_{underscored}"), wheels.highs_description.clone().into()),
        ("MILLSTREAM_SONAME".to_owned(), soname().into()),
    ]
}
