//! Errors as exceptions, with the library's words.

use millstream::runtime::FrameError;
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
    match error {
        millstream::Error::Io { .. } => FileError::new_err(message),
        millstream::Error::File { source, .. } if is_of_system(&**source) => FileError::new_err(message),
        millstream::Error::File { source, .. } if matches!(**source, millstream::Error::Unfit(_)) => {
            InputError::new_err(message)
        }
        millstream::Error::Unfit(_) => InputError::new_err(message),
        _ => Error::new_err(message),
    }
}

/// Whether the system has refused something.
fn is_of_system(error: &(dyn std::error::Error + 'static)) -> bool {
    std::iter::successors(Some(error), |error| error.source()).any(|error| error.is::<std::io::Error>())
}

/// Why a frame has no result.
pub(crate) fn of_frame(sequence: u64, error: &FrameError) -> PyErr {
    match error {
        FrameError::Input { .. } | FrameError::InputCount { .. } => InputError::new_err(error.to_string()),
        _ => FrameFailed::new_err(format!("frame {sequence}: {error}")),
    }
}
