//! Where a file is while it is not finished.

use std::fs::File;
use std::io::{self, Seek};
use std::path::{Path, PathBuf};

use crate::unfinished::{Listed, names};

/// A file on the same file system as the one that it becomes.
pub(crate) enum Staged {
    /// It has no name, so that nothing is left behind however the process ends.
    #[cfg(target_os = "linux")]
    Nameless(File),
    /// It has a name of its own, where the file system knows no files without one.
    Named(Named),
}

impl Staged {
    pub(crate) fn new_in(folder: &Path) -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        if let Some(file) = nameless(folder)? {
            return Ok(Self::Nameless(file));
        }
        Named::new_in(folder).map(Self::Named)
    }

    pub(crate) fn file(&mut self) -> &mut File {
        match self {
            #[cfg(target_os = "linux")]
            Self::Nameless(file) => file,
            Self::Named(named) => &mut named.file,
        }
    }

    /// Gives the file its name, also if there is one of that name. It comes back if it can't have the name.
    pub(crate) fn place(self, target: &Path) -> Result<(), (Self, io::Error)> {
        match self {
            #[cfg(target_os = "linux")]
            Self::Nameless(mut file) => match place_nameless(&mut file, target) {
                Ok(()) => Ok(()),
                Err(error) => Err((Self::Nameless(file), error)),
            },
            Self::Named(named) => match named.rename(target) {
                Ok(()) => Ok(()),
                Err(error) => Err((Self::Named(named), error)),
            },
        }
    }
}

/// A file with a temporary name, which is removed when this is dropped.
pub(crate) struct Named {
    file: File,
    name: Listed,
}

impl Named {
    pub(crate) fn new_in(folder: &Path) -> io::Result<Self> {
        let mut names = names();
        let mut builder = tempfile::Builder::new();
        builder.prefix(".unfinished-");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // What the user's mask leaves of it, as for any new file.
            builder.permissions(std::fs::Permissions::from_mode(0o666));
        }
        let (file, path) = builder.tempfile_in(folder)?.keep().map_err(|error| error.error)?;
        Ok(Self { file, name: Listed::new(&mut names, &path) })
    }

    fn rename(&self, target: &Path) -> io::Result<()> {
        let mut names = names();
        std::fs::rename(self.name.path(), target)?;
        self.name.strike(&mut names);
        Ok(())
    }
}

impl Drop for Named {
    fn drop(&mut self) {
        let mut names = names();
        if names.iter().any(|name| name == self.name.path()) {
            // It may be gone already.
            let _ = std::fs::remove_file(self.name.path());
            self.name.strike(&mut names);
        }
    }
}

/// A file without a name; `None` where there is no such thing.
#[cfg(target_os = "linux")]
fn nameless(folder: &Path) -> io::Result<Option<File>> {
    use rustix::fs::{CWD, Mode, OFlags, openat};
    use rustix::io::Errno;

    // The file gets its name through this folder.
    if !Path::new(FILES_OF_THIS_PROCESS).is_dir() {
        return Ok(None);
    }
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    match openat(CWD, folder, flags, Mode::from_raw_mode(0o666)) {
        Ok(file) => Ok(Some(File::from(file))),
        Err(error @ (Errno::ACCESS | Errno::PERM | Errno::ROFS | Errno::NOTDIR)) => Err(error.into()),
        Err(Errno::NOENT) if !folder.is_dir() => Err(Errno::NOENT.into()),
        Err(_) => Ok(None),
    }
}

#[cfg(target_os = "linux")]
const FILES_OF_THIS_PROCESS: &str = "/proc/self/fd";

/// Where nothing has the name, the file gets it at once. Else it gets another one first, for some microseconds.
#[cfg(target_os = "linux")]
fn place_nameless(file: &mut File, target: &Path) -> io::Result<()> {
    use rustix::io::Errno;

    let mut names = names();
    match link(file, target) {
        Ok(()) => return Ok(()),
        Err(Errno::EXIST) => {}
        Err(_) => {
            drop(names);
            return place_copy(file, target);
        }
    }
    for number in 0_u32.. {
        let beside = beside(target, number);
        match link(file, &beside) {
            Ok(()) => {
                let listed = Listed::new(&mut names, &beside);
                let renamed = std::fs::rename(&beside, target);
                if renamed.is_err() {
                    let _ = std::fs::remove_file(&beside);
                }
                listed.strike(&mut names);
                return renamed;
            }
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(Errno::EXIST.into())
}

/// Gives a file without a name this one.
#[cfg(target_os = "linux")]
fn link(file: &File, name: &Path) -> rustix::io::Result<()> {
    use std::os::fd::AsRawFd;

    use rustix::fs::{AtFlags, CWD, linkat};

    let source = format!("{FILES_OF_THIS_PROCESS}/{}", file.as_raw_fd());
    linkat(CWD, source, CWD, name, AtFlags::SYMLINK_FOLLOW)
}

/// A name for a moment in the folder of a file.
#[cfg(target_os = "linux")]
fn beside(target: &Path, number: u32) -> PathBuf {
    target.with_file_name(format!(".unfinished-{}-{number}", std::process::id()))
}

/// For file systems that make files without a name and then give them none.
#[cfg(target_os = "linux")]
fn place_copy(file: &mut File, target: &Path) -> io::Result<()> {
    let folder = crate::staging::folder_of(target);
    let mut named = Named::new_in(folder)?;
    file.rewind()?;
    io::copy(file, &mut named.file)?;
    named.file.set_permissions(file.metadata()?.permissions())?;
    named.file.sync_all()?;
    named.rename(target)
}

pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use std::io::Write;

    use super::*;

    #[test]
    fn files_with_and_without_names_get_theirs() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("made");
        let new = || Staged::new_in(folder.path()).unwrap();
        let named = || Staged::Named(Named::new_in(folder.path()).unwrap());
        let ways: [&dyn Fn() -> Staged; 2] = [&new, &named];
        for (round, stage) in ways.into_iter().enumerate() {
            for text in ["first", "second"] {
                let text = format!("{text} {round}");
                let mut staged = stage();
                staged.file().write_all(text.as_bytes()).unwrap();
                assert!(staged.place(&target).is_ok());
                assert_eq!(std::fs::read_to_string(&target).unwrap(), text);
            }
            drop(stage());
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_that_gets_no_name_is_copied() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("made");
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"text").unwrap();
        place_copy(&mut file, &target).unwrap();
        assert_eq!(std::fs::read_to_string(&target).unwrap(), "text");
    }
}
