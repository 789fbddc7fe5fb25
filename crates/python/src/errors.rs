//! Errors as exceptions, with the library's words.

use millstream::runtime::{FrameError, RuntimeError};
use pyo3::PyErr;

// Classes of two bases can't be made here.
pyo3::import_exception!(millstream._errors, Error);
pyo3::import_exception!(millstream._errors, InputError);
pyo3::import_exception!(millstream._errors, FileError);
pyo3::import_exception!(millstream._errors, FrameFailed);
pyo3::import_exception!(millstream._errors, Timeout);

/// Why a session does nothing any more.
pub(crate) fn closed() -> PyErr {
    Error::new_err("the session is closed")
}

/// An error of the library.
pub(crate) fn of(error: &millstream::Error) -> PyErr {
    let message = error.to_string();
    match innermost(error) {
        millstream::Error::Io { .. } => FileError::new_err(message),
        millstream::Error::Unfit(_) => InputError::new_err(message),
        millstream::Error::Runtime(RuntimeError::Stopped) => Error::new_err(message),
        _ => Error::new_err(message),
    }
}

/// Without the names of files around it.
fn innermost(error: &millstream::Error) -> &millstream::Error {
    match error {
        millstream::Error::File { source, .. } => innermost(source),
        other => other,
    }
}

/// Why a frame has no result.
pub(crate) fn of_frame(sequence: u64, error: &FrameError) -> PyErr {
    match error {
        FrameError::Input { .. } | FrameError::InputCount { .. } => InputError::new_err(error.to_string()),
        _ => FrameFailed::new_err(format!("frame {sequence}: {error}")),
    }
}
