//! Reading and writing whole files, without leaving half of one behind.

use std::fs;
use std::io::Write;
use std::path::Path;

use tempfile::NamedTempFile;

use crate::Error;

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
