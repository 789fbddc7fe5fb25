//! Files that are written whole or not at all.
//!
//! ```
//! # let folder = tempfile::tempdir()?;
//! let path = folder.path().join("result.json");
//! millstream_files::write(&path, b"{}")?;
//! assert_eq!(std::fs::read(&path)?, b"{}");
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! Invariants: whoever reads a file meanwhile sees what it was or all of what it becomes; what was there keeps its mode
//! and, where the system allows, its owner; links are followed to the file that they name; what is written is on the
//! disk when it has its name.
//!
//! What can't be kept to: a file that may be written in a folder that may not is overwritten in place, and so is one
//! that something else is mounted on. Room for it is reserved first, so a full disk leaves it as it was; a process that
//! is killed meanwhile does not.

mod scratch;
mod staging;
mod unfinished;
mod whole;

pub use scratch::ScratchFolder;
pub use unfinished::abandon_unfinished;
pub use whole::WholeFile;

use std::io::{self, Write};
use std::path::Path;

/// Writes a file with this content, as [`WholeFile`] does.
///
/// # Errors
/// Whatever the system says; the file is as it was then.
pub fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = WholeFile::create(path)?;
    file.write_all(content)?;
    file.finish()
}

/// Fails early, before any work is done for a file that could not be written. Named pipes are left alone.
///
/// # Errors
/// As [`WholeFile::create`].
pub fn check_writable(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    if std::fs::metadata(path).is_ok_and(|data| std::os::unix::fs::FileTypeExt::is_fifo(&data.file_type())) {
        // Its reader would take a writer that comes and goes for the end of the data.
        return Ok(());
    }
    WholeFile::create(path).map(drop)
}

/// Fails early if files could not be written into a folder, which is made with the first of them if it is missing.
///
/// # Errors
/// Whatever the system says about the folder, or about the nearest one above it that exists.
pub fn check_folder(folder: &Path) -> io::Result<()> {
    let existing = folder.ancestors().find(|ancestor| ancestor.exists() || ancestor.as_os_str().is_empty());
    let existing = existing.filter(|ancestor| !ancestor.as_os_str().is_empty()).unwrap_or(Path::new("."));
    staging::Staged::new_in(existing).map(drop)
}
