//! Reading and writing whole files, without leaving half of one behind; and files that grow while something runs.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::error::Error;

/// The most bytes of a document: far more than any has, and few enough for the memory of small boards.
const MOST_DOCUMENT_BYTES: u64 = 256 << 20;

/// A [`Growing`] file is written when so many bytes are waiting, or the first of them since so long.
const WAITING_BYTES: usize = 1 << 16;
const WAITING_TIME: Duration = Duration::from_secs(1);

/// Reads a text file of at most 256 MiB.
///
/// # Errors
/// [`Error::Io`].
pub fn read(path: &Path) -> Result<String, Error> {
    let read = || {
        let mut text = String::new();
        File::open(path)?.take(MOST_DOCUMENT_BYTES + 1).read_to_string(&mut text)?;
        if text.len() as u64 > MOST_DOCUMENT_BYTES {
            Err(io::Error::other(format!("it has more than {} MiB", MOST_DOCUMENT_BYTES >> 20)))
        } else {
            Ok(text)
        }
    };
    let as_text = |error: io::Error| match error.kind() {
        io::ErrorKind::InvalidData => io::Error::other("it is not a text file"),
        _ => error,
    };
    read().map_err(|error| failed("read", path)(as_text(error)))
}

/// Writes a file so that it either has all of the text or is as it was, with the mode that it had; see
/// [`millstream_files::WholeFile`]. Devices and pipes are written to directly.
///
/// # Errors
/// [`Error::Io`].
pub fn write(path: &Path, text: &str) -> Result<(), Error> {
    not_a_dash(path).and_then(|()| millstream_files::write(path, text.as_bytes())).map_err(failed("write", path))
}

/// A file that grows while something runs. It is of use at any moment: it ends with what one call of [`Write::write`]
/// was given, which is there a second later at the latest if more is written by then. Only a kill of the process, or a
/// full disk, may cut the last of it short. What was in the file before is gone.
#[derive(Debug)]
pub struct Growing {
    file: File,
    waiting: Vec<u8>,
    written: Instant,
}

impl Growing {
    /// Begins an empty file; devices and pipes are written to as they are.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn create(path: &Path) -> Result<Self, Error> {
        let open = || OpenOptions::new().write(true).create(true).truncate(true).open(path);
        let file = not_a_dash(path).and_then(|()| open()).map_err(failed("write", path))?;
        Ok(Self { file, waiting: Vec::new(), written: Instant::now() })
    }
}

impl Write for Growing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.waiting.extend_from_slice(bytes);
        if self.waiting.len() >= WAITING_BYTES || self.written.elapsed() >= WAITING_TIME {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
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
    not_a_dash(path).and_then(|()| millstream_files::check_writable(path)).map_err(failed("write", path))
}

/// Fails early if files could not be written into a folder, which is made with the first of them if it is missing.
///
/// # Errors
/// [`Error::Io`].
pub fn check_folder(folder: &Path) -> Result<(), Error> {
    millstream_files::check_folder(folder).map_err(failed("write into", folder))
}

/// For a process that is about to end while other threads of it may still write: removes what is unfinished, and keeps
/// them from beginning and finishing files from then on. Waits at most as long as `limit` for one that is just being
/// finished.
pub fn abandon_unfinished(limit: Duration) {
    millstream_files::abandon_unfinished(limit);
}

/// Elsewhere a dash often stands for standard output, so it is not meant as the name of a file.
fn not_a_dash(path: &Path) -> io::Result<()> {
    if path.as_os_str() == "-" {
        Err(io::Error::other("name /dev/stdout to write to standard output, or ./- for a file of that name"))
    } else {
        Ok(())
    }
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    move |source| Error::Io { action, path: path.to_owned(), source }
}

/// A document as it stands in a file.
///
/// # Errors
/// [`Error::Defect`] for what JSON can't hold, such as maps whose keys are no texts; no document of Millstream's is
/// like that.
pub fn to_json(document: &impl serde::Serialize) -> Result<String, Error> {
    serde_json::to_string_pretty(document).map_err(|error| Error::Defect(format!("a document is not JSON: {error}")))
}

#[cfg(all(test, unix))]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    #[test]
    fn a_document_without_end_is_none() {
        assert!(read(Path::new("/dev/zero")).unwrap_err().to_string().contains("more than 256 MiB"));
    }

    #[test]
    fn a_file_of_other_bytes_is_no_document() {
        let program = std::env::current_exe().unwrap();
        assert!(read(&program).unwrap_err().to_string().ends_with("it is not a text file"));
    }

    #[test]
    fn a_dash_is_not_taken_for_a_file() {
        let message = check_writable(Path::new("-")).unwrap_err().to_string();
        assert!(message.contains("/dev/stdout") && write(Path::new("-"), "").is_err(), "{message}");
    }
}
