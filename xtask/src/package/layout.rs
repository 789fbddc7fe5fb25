//! What a package and its library are called, and where a system has them.

use std::path::PathBuf;

use crate::folders::root;

/// The release, as the workspace has it.
pub(super) const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The library for C, as linkers look for it.
pub(super) const LIBRARY: &str = "libmillstream.so";

/// By which programs in C look for the library: with what of its version rises with a change that they have to follow.
pub(super) fn soname() -> String {
    let (major, minor) = (env!("CARGO_PKG_VERSION_MAJOR"), env!("CARGO_PKG_VERSION_MINOR"));
    if major == "0" { format!("{LIBRARY}.0.{minor}") } else { format!("{LIBRARY}.{major}") }
}

/// Where Debian installs it.
pub(super) const PLACE: &str = "usr/lib/millstream";

/// The folder of packages and of what they are made from.
pub(super) fn package_folder() -> PathBuf {
    root().join("target/package")
}
