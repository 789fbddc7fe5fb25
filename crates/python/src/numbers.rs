//! Whole numbers as callers give them.

use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;

use crate::errors::InputError;

/// A whole number that may be out of range. What is refused is an `InputError` that names the argument, where Python's
/// own error for a negative or a huge number names neither.
pub(crate) enum Whole {
    /// One that 64 bits hold.
    Fits(u64),
    /// The digits of another one.
    Beyond(String),
}

impl<'a, 'py> FromPyObject<'a, 'py> for Whole {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        match object.extract::<u64>() {
            Ok(number) => Ok(Self::Fits(number)),
            Err(error) if error.is_instance_of::<PyOverflowError>(object.py()) => {
                Ok(Self::Beyond(object.str()?.to_string()))
            }
            Err(error) => Err(error),
        }
    }
}

impl Whole {
    /// The number for an argument of this name, of which there must be at least one.
    pub(crate) fn at_least_one<T: TryFrom<u64>>(self, argument: &str) -> PyResult<T> {
        match self {
            Self::Fits(0) => Err(InputError::new_err(format!("{argument} must be at least 1"))),
            other => other.of(argument),
        }
    }

    /// The number for an argument of this name.
    pub(crate) fn of<T: TryFrom<u64>>(self, argument: &str) -> PyResult<T> {
        let text = match self {
            Self::Fits(number) => match T::try_from(number) {
                Ok(number) => return Ok(number),
                Err(_) => number.to_string(),
            },
            Self::Beyond(text) => text,
        };
        let wrong = if text.starts_with('-') { "must not be negative" } else { "is too large" };
        Err(InputError::new_err(format!("{argument} {wrong}: {text}")))
    }
}
