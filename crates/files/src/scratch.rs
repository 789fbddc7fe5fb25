//! Temporary folders that leave nothing behind, even where the process has to end at once.

use std::io;
use std::path::Path;

use tempfile::TempDir;

use crate::unfinished::{Listed, names};

/// A folder for what is of no use afterwards. It is removed with everything in it when this is dropped, and by
/// [`abandon_unfinished`](crate::abandon_unfinished).
pub struct ScratchFolder {
    folder: TempDir,
    name: Listed,
}

impl ScratchFolder {
    /// Makes a folder where the system keeps temporary files.
    ///
    /// # Errors
    /// Whatever the system says.
    pub fn new() -> io::Result<Self> {
        let mut names = names();
        let folder = tempfile::Builder::new().prefix("millstream-").tempdir()?;
        let name = Listed::new(&mut names, folder.path());
        Ok(Self { folder, name })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        self.name.strike(&mut names());
    }
}
