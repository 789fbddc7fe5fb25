//! Errors as exceptions, with the library's words.

use millstream_api::ErrorKind;
use millstream_api::runtime::FrameError;
use pyo3::PyErr;

// Classes of two bases can't be made here.
pyo3::import_exception!(millstream._errors, Error);
pyo3::import_exception!(millstream._errors, EngineMissing);
pyo3::import_exception!(millstream._errors, InputError);
pyo3::import_exception!(millstream._errors, FileError);
pyo3::import_exception!(millstream._errors, FrameFailed);
pyo3::import_exception!(millstream._errors, Timeout);

/// Why a session does nothing any more.
pub(crate) fn closed() -> PyErr {
    of(&millstream_api::Error::Closed)
}

/// An error of the library.
pub(crate) fn of(error: &millstream_api::Error) -> PyErr {
    let message = error.to_string();
    match error.kind() {
        ErrorKind::File => FileError::new_err(message),
        ErrorKind::Unfit => InputError::new_err(message),
        ErrorKind::Unavailable => EngineMissing::new_err(message.clone() + remedy(&message)),
        _ => Error::new_err(message),
    }
}

/// How an engine comes to be there, for which Python has a package.
fn remedy(message: &str) -> &'static str {
    if message.contains("'onnxruntime'") {
        "; from Python it is enough to have its package: pip install --upgrade onnxruntime"
    } else {
        ""
    }
}

/// Why a frame has no result.
pub(crate) fn of_frame(sequence: u64, error: &FrameError) -> PyErr {
    match error {
        FrameError::Input { .. } | FrameError::InputCount { .. } => InputError::new_err(error.to_string()),
        _ => FrameFailed::new_err(format!("frame {sequence}: {error}")),
    }
}
