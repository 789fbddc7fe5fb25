//! The board that a command works on.

use std::path::Path;

use anyhow::{Context, Result, bail};
use millstream_board::Board;
use millstream_machine::usable_cores;

use crate::files;

/// The board of a file, or the machine at hand.
pub(crate) fn board(file: Option<&Path>) -> Result<Board> {
    match file {
        Some(path) => Board::from_json(&files::read(path)?).with_context(|| path.display().to_string()),
        None => detect(false),
    }
}

/// The machine at hand, with its graphics devices; those that the CPU's cores emulate only if `with_software`.
pub(crate) fn detect(with_software: bool) -> Result<Board> {
    Ok(millstream_machine::detect()?.with_accelerators(millstream_backend_wgpu::detect(with_software))?)
}

/// Whether this process may run on all the board's cores; measuring and running need that.
pub(crate) fn check_usable(board: &Board) -> Result<()> {
    let allowed = usable_cores().unwrap_or_default();
    if let Some(core) = board.cores().find(|core| !allowed.contains(&core.id)) {
        let allowed: Vec<String> = allowed.iter().map(ToString::to_string).collect();
        bail!(
            "core {} of board '{}' does not exist on this machine or is outside the cpuset of this process, which may use \
             the cores {}; correct the board file, or detect the board with `cargo xtask board`",
            core.id,
            board.name(),
            allowed.join(", ")
        );
    }
    Ok(())
}
