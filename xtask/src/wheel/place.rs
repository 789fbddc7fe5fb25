//! Where the Python package is made from, and what its wheels are for.

use crate::cross::GLIBC;

/// The folder that it is made from.
pub(super) const SOURCE: &str = "crates/python";

/// What wheels call the systems that [`GLIBC`] is old enough for.
pub(super) fn platform() -> String {
    format!("manylinux_{}_{}", GLIBC.0, GLIBC.1)
}
