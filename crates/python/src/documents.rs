//! Files of Millstream's, and what stands in them as Python's own objects.

use std::path::PathBuf;

use millstream_api::files;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyMemoryView};
use serde::Serialize;

use crate::errors::{self, InputError};

/// The text of a document.
pub(crate) struct Document {
    text: String,
    /// Where it is from, if it is from a file.
    path: Option<PathBuf>,
}

impl Document {
    /// Reads a document that is given as a dictionary, as JSON, or as the path of a file.
    pub(crate) fn read(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        if object.is_instance_of::<PyDict>() {
            let text = object.py().import("json")?.call_method1("dumps", (object,))?.extract()?;
            return Ok(Self { text, path: None });
        }
        match file(object)? {
            Some(path) => Ok(Self { text: files::read(&path).map_err(|error| errors::of(&error))?, path: Some(path) }),
            None => Ok(Self { text: path(object)?.to_string_lossy().into_owned(), path: None }),
        }
    }

    /// What it says; errors name the file.
    pub(crate) fn parse<T, E: Into<millstream_api::Error>>(
        &self,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<T, millstream_api::Error> {
        parse(&self.text).map_err(|error| match &self.path {
            Some(path) => millstream_api::Error::File { path: path.clone(), source: Box::new(error.into()) },
            None => error.into(),
        })
    }
}

/// The file that a document is given by, if it is neither a dictionary nor JSON.
pub(crate) fn file(object: &Bound<'_, PyAny>) -> PyResult<Option<PathBuf>> {
    if object.is_instance_of::<PyDict>() {
        return Ok(None);
    }
    let path = path(object)?;
    let is_json = path.to_str().is_some_and(|text| text.trim_start().starts_with('{'));
    Ok(Some(path).filter(|_| !is_json))
}

/// A path, as a text or an object of `pathlib`.
pub(crate) fn path(object: &Bound<'_, PyAny>) -> PyResult<PathBuf> {
    object.py().import("os")?.call_method1("fspath", (object,))?.extract()
}

/// Where a network is.
#[derive(Clone)]
pub(crate) enum Model {
    /// A path or `zoo:NAME`.
    At(String),
    /// An ONNX file that is in memory.
    Bytes(Vec<u8>),
}

impl Model {
    pub(crate) fn read(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        // Whatever is over bytes: a bytearray, a memoryview, a file that is mapped.
        if let Ok(view) = PyMemoryView::from(object) {
            let bytes = view.call_method0("tobytes")?;
            return Ok(Self::Bytes(bytes.cast::<PyBytes>()?.as_bytes().to_vec()));
        }
        // Schedules name the network's file, and are texts.
        let not_text = |path| {
            InputError::new_err(format!(
                "the path of the model, {path:?}, is not UTF-8; rename the file, or give its bytes"
            ))
        };
        Ok(Self::At(path(object)?.into_os_string().into_string().map_err(not_text)?))
    }
}

/// A document as dictionaries, lists, numbers and texts.
pub(crate) fn to_python<'py>(py: Python<'py>, document: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    let text = files::to_json(document).map_err(|error| errors::of(&error))?;
    py.import("json")?.call_method1("loads", (text,))
}
