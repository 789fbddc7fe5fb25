//! Reading and writing whole files, without leaving half of one behind; and files that grow while something runs.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use tempfile::NamedTempFile;

use crate::Error;

/// A [`Growing`] file is written when so many bytes are waiting, or the first of them since so long.
const WAITING_BYTES: usize = 1 << 16;
const WAITING_TIME: Duration = Duration::from_secs(1);

/// Reads a text file.
///
/// # Errors
/// [`Error::Io`].
pub fn read(path: &Path) -> Result<String, Error> {
    fs::read_to_string(path).map_err(|source| Error::Io { action: "read", path: path.to_owned(), source })
}

/// Writes a file so that it either has all of the text or is as it was: into a temporary file beside it, which then takes
/// its name. Devices and pipes are written to directly.
///
/// # Errors
/// [`Error::Io`].
pub fn write(path: &Path, text: &str) -> Result<(), Error> {
    let written = || {
        if is_device(path)? {
            let mut device = fs::OpenOptions::new().write(true).open(path)?;
            return device.write_all(text.as_bytes()).and_then(|()| device.flush());
        }
        let mut file = NamedTempFile::new_in(folder_of(path))?;
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        make_readable(file.path())?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    };
    written().map_err(|source| not_written(path, source))
}

/// A file that grows while something runs. It is of use at any moment: what a call of [`Write::write`] was given is written as a whole,
/// a second later at the latest if more is written by then. What was in the file before is gone.
#[derive(Debug)]
pub struct Growing {
    file: fs::File,
    waiting: Vec<u8>,
    written: Instant,
}

impl Growing {
    /// Begins an empty file; devices and pipes are written to as they are.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn create(path: &Path) -> Result<Self, Error> {
        let file = fs::OpenOptions::new().write(true).create(true).truncate(true).open(path);
        let file = file.map_err(|source| not_written(path, source))?;
        Ok(Self { file, waiting: Vec::new(), written: Instant::now() })
    }
}

impl Write for Growing {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.waiting.extend_from_slice(bytes);
        if self.waiting.len() >= WAITING_BYTES || self.written.elapsed() >= WAITING_TIME {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.written = Instant::now();
        let written = self.file.write_all(&self.waiting);
        // After an error, nobody knows how much of it is there.
        self.waiting.clear();
        written
    }
}

impl Drop for Growing {
    fn drop(&mut self) {
        // Whoever wants to know of errors flushes it.
        let _ = self.flush();
    }
}

/// Fails early, before any work is done for a file that could not be written.
///
/// # Errors
/// [`Error::Io`].
pub fn check_writable(path: &Path) -> Result<(), Error> {
    let checked = || if is_device(path)? { Ok(()) } else { NamedTempFile::new_in(folder_of(path)).map(drop) };
    checked().map_err(|source| not_written(path, source))
}

/// Fails early if files could not be written into a folder, which is made with the first of them if it is missing.
///
/// # Errors
/// [`Error::Io`].
pub fn check_folder(folder: &Path) -> Result<(), Error> {
    let existing = folder.ancestors().find(|ancestor| ancestor.exists() || ancestor.as_os_str().is_empty());
    let existing = existing.filter(|ancestor| !ancestor.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let action = "write into";
    let failed = |source| Error::Io { action, path: folder.to_owned(), source };
    NamedTempFile::new_in(existing).map(drop).map_err(failed)
}

/// Whether something is there that is written to as it is; an error if it is a folder.
fn is_device(path: &Path) -> std::io::Result<bool> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => Err(std::io::Error::other("it is a folder")),
        metadata => Ok(metadata.is_ok_and(|metadata| !metadata.is_file())),
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn not_written(path: &Path, source: std::io::Error) -> Error {
    Error::Io { action: "write", path: path.to_owned(), source }
}

/// Temporary files are private; documents need not be.
#[cfg(unix)]
fn make_readable(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn make_readable(_: &Path) -> std::io::Result<()> {
    Ok(())
}

/// A document as it stands in a file.
///
/// # Errors
/// [`Error::Defect`] for what JSON can't hold, such as maps whose keys are no texts; no document of Millstream's is like that.
pub fn to_json(document: &impl serde::Serialize) -> Result<String, Error> {
    serde_json::to_string_pretty(document).map_err(|error| Error::Defect(format!("a document is not JSON: {error}")))
}
