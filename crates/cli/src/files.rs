//! Reading and writing whole files, without leaving half of one behind.

use std::fs;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, bail};
use tempfile::NamedTempFile;

/// Reads a text file.
pub(crate) fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

/// Writes a file so that it either has all of the text or is as it was: into a temporary file beside it, which then takes
/// its name. Devices and pipes are written to directly.
pub(crate) fn write(path: &Path, text: &str) -> Result<()> {
    let failed = || format!("cannot write {}", path.display());
    if path.is_dir() {
        bail!("{}: it is a folder", failed());
    }
    if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        let mut device = fs::OpenOptions::new().write(true).open(path).with_context(failed)?;
        return device.write_all(text.as_bytes()).and_then(|()| device.flush()).with_context(failed);
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = NamedTempFile::new_in(folder).with_context(failed)?;
    file.write_all(text.as_bytes()).and_then(|()| file.as_file().sync_all()).with_context(failed)?;
    make_readable(file.path()).with_context(failed)?;
    file.persist(path).map_err(|error| error.error).with_context(failed)?;
    Ok(())
}

/// Fails early, before any work is done for a file that could not be written.
pub(crate) fn check_writable(path: &Path) -> Result<()> {
    let failed = || format!("cannot write {}", path.display());
    if path.is_dir() {
        bail!("{}: it is a folder", failed());
    }
    if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        return Ok(());
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    NamedTempFile::new_in(folder).with_context(failed)?;
    Ok(())
}

/// Fails early if files could not be written into a folder, which is made with the first of them if it is missing.
pub(crate) fn check_folder(folder: &Path) -> Result<()> {
    let failed = || format!("cannot write into {}", folder.display());
    let existing = folder.ancestors().find(|ancestor| ancestor.exists() || ancestor.as_os_str().is_empty());
    let existing = existing.filter(|ancestor| !ancestor.as_os_str().is_empty()).unwrap_or(Path::new("."));
    NamedTempFile::new_in(existing).with_context(failed)?;
    Ok(())
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
