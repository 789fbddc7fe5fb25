//! Making things for other computers than this one: older ones, and those of another architecture, which QEMU stands in
//! for.

mod board;
mod debian;
mod old_system;
mod rust;
mod target;
pub(crate) mod zig;

use std::path::PathBuf;

use crate::files::failed;
use crate::folders::root;

pub(crate) use board::{Cores, EmulatedBoard, RECORDED};
pub(crate) use old_system::OldSystem;
pub(crate) use target::{GLIBC, Target};

/// The folder of what is fetched for this.
fn fetched_folder() -> PathBuf {
    root().join("target/cross")
}
