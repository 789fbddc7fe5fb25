//! Writing of files that replace others only when they are complete.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::staging::{Staged, folder_of};

/// Links that are followed to a file that does not exist yet, as the system does it.
const MOST_LINKS: usize = 40;

/// A file that is being written: it has its name and replaces what was there when it is finished. Dropped before, it
/// leaves nothing.
///
/// Devices and pipes are written to directly.
pub struct WholeFile {
    way: Way,
    target: PathBuf,
}

enum Way {
    /// Written beside the file that it becomes.
    Staged(Staged),
    /// Written elsewhere and then over the file that is there, which has no room beside it.
    Over { written: File, existing: File },
    /// Written as it comes.
    Direct(File),
}

impl WholeFile {
    /// Begins a file of this name, or one that replaces what has it.
    ///
    /// # Errors
    /// Whatever the system says: the folder does not exist, or may not be written to and there is no such file yet; the
    /// name is a folder's, or that of a file that may not be written.
    pub fn create(path: &Path) -> io::Result<Self> {
        let target = followed(path)?;
        let existing = match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => return Err(io::Error::other("it is a folder")),
            Ok(metadata) => Some(metadata),
            Err(_) => None,
        };
        if let Some(file) = standard_stream(path)? {
            return Ok(Self { way: Way::Direct(file), target });
        }
        if existing.as_ref().is_some_and(|existing| !existing.is_file()) {
            let file = OpenOptions::new().write(true).open(path)?;
            return Ok(Self { way: Way::Direct(file), target });
        }
        let Some(existing) = existing else {
            let way = Way::Staged(Staged::new_in(folder_of(&target))?);
            return Ok(Self { way, target });
        };

        // It may not be written, or not be there any more.
        let opened = OpenOptions::new().write(true).open(&target)?;
        let way = match Staged::new_in(folder_of(&target)) {
            Ok(mut staged) => {
                take_after(staged.file(), &existing)?;
                Way::Staged(staged)
            }
            Err(error) if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem) => {
                Way::Over { written: tempfile::tempfile()?, existing: opened }
            }
            Err(error) => return Err(error),
        };
        Ok(Self { way, target })
    }

    /// Lets the file have its name, with all that was written. It is on the disk then, with its name.
    ///
    /// # Errors
    /// Whatever the system says; the file is as it was then.
    pub fn finish(self) -> io::Result<()> {
        let Self { way, target } = self;
        match way {
            Way::Direct(mut file) => file.flush(),
            Way::Over { mut written, mut existing } => overwrite(&mut written, &mut existing),
            Way::Staged(mut staged) => {
                staged.file().sync_all()?;
                match staged.place(&target) {
                    Ok(()) => keep_name(folder_of(&target)),
                    // Something is mounted on it, as containers do it with single files.
                    Err((mut staged, error))
                        if matches!(error.kind(), ErrorKind::ResourceBusy | ErrorKind::CrossesDevices) =>
                    {
                        overwrite(staged.file(), &mut OpenOptions::new().write(true).open(&target)?)
                    }
                    Err((_, error)) => Err(error),
                }
            }
        }
    }

    fn file(&mut self) -> &mut File {
        match &mut self.way {
            Way::Staged(staged) => staged.file(),
            Way::Over { written, .. } => written,
            Way::Direct(file) => file,
        }
    }
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file().flush()
    }
}

impl Read for WholeFile {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.file().read(bytes)
    }
}

impl Seek for WholeFile {
    fn seek(&mut self, place: SeekFrom) -> io::Result<u64> {
        self.file().seek(place)
    }
}

/// The file that a name stands for, behind all links, whether it exists or not.
fn followed(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&path) {
            Ok(link) => path = folder_of(&path).join(link),
            // No link, or nothing.
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("there are too many links to follow"))
}

/// Standard output or error, where the name says so. It may be a file, which goes on where it is rather than being
/// replaced.
#[cfg(unix)]
fn standard_stream(path: &Path) -> io::Result<Option<File>> {
    use std::os::fd::AsFd;

    let stream = match path.to_str() {
        Some("/dev/stdout") => {
            io::stdout().flush()?;
            io::stdout().as_fd().try_clone_to_owned()?
        }
        Some("/dev/stderr") => io::stderr().as_fd().try_clone_to_owned()?,
        _ => return Ok(None),
    };
    Ok(Some(File::from(stream)))
}

#[cfg(not(unix))]
fn standard_stream(_: &Path) -> io::Result<Option<File>> {
    Ok(None)
}

/// Lets a new file be what the one was that it replaces.
#[cfg(unix)]
fn take_after(file: &File, existing: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    use rustix::fs::{Gid, Uid, fchown};

    let created = file.metadata()?;
    if (created.uid(), created.gid()) != (existing.uid(), existing.gid()) {
        // Only the superuser may do so in general.
        let _ = fchown(file, Some(Uid::from_raw(existing.uid())), Some(Gid::from_raw(existing.gid())));
    }
    file.set_permissions(fs::Permissions::from_mode(existing.mode() & 0o7777))
}

#[cfg(not(unix))]
fn take_after(_: &File, _: &Metadata) -> io::Result<()> {
    Ok(())
}

/// Copies a file over one that is there.
fn overwrite(written: &mut File, existing: &mut File) -> io::Result<()> {
    let before = existing.metadata()?.len();
    let after = written.seek(SeekFrom::End(0))?;
    if let Err(error) = reserve(existing, after) {
        existing.set_len(before)?;
        return Err(error);
    }
    written.rewind()?;
    io::copy(written, existing)?;
    existing.set_len(after)?;
    existing.sync_all()
}

/// Makes sure that so many bytes have room, where the file system can say so.
#[cfg(target_os = "linux")]
fn reserve(file: &File, bytes: u64) -> io::Result<()> {
    use rustix::fs::{FallocateFlags, fallocate};
    use rustix::io::Errno;

    if bytes == 0 {
        return Ok(());
    }
    match fallocate(file, FallocateFlags::empty(), 0, bytes) {
        Err(error @ (Errno::NOSPC | Errno::DQUOT | Errno::FBIG | Errno::IO)) => Err(error.into()),
        _ => Ok(()),
    }
}

#[cfg(not(target_os = "linux"))]
fn reserve(_: &File, _: u64) -> io::Result<()> {
    Ok(())
}

/// A name is in its folder, which is a file of its own.
fn keep_name(folder: &Path) -> io::Result<()> {
    // Who may write into a folder need not be allowed to read it.
    let Ok(folder) = File::open(folder) else { return Ok(()) };
    match folder.sync_all() {
        // Some file systems can't do that with folders.
        Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => Ok(()),
        synced => synced,
    }
}
