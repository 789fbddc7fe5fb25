//! Failures of the OpenVINO library and its devices, and their messages in one line.

use std::path::PathBuf;

use millstream_backend::BackendError;
use openvino::InferenceError;
use thiserror::Error;

use crate::NAME;
use crate::versions::{SUPPORTED, VARIABLE};

/// Why OpenVINO, or a device of its, can't be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum OpenVinoError {
    /// The library is nowhere to be found.
    #[error(
        "there is no OpenVINO: {looked}; `pip install 'openvino=={}'` and set {} to the package's folder",
        SUPPORTED,
        VARIABLE
    )]
    Missing {
        /// Where it was looked for.
        looked: String,
    },
    /// A file of its name is something else, or damaged.
    #[error("{} is no OpenVINO that can be loaded: {detail}; set {} to the folder of another one", .path.display(), VARIABLE)]
    NotLoaded {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        detail: String,
    },
    /// It has another version than those that this was written for.
    #[error(
        "{} is OpenVINO {version}, which is not supported; `pip install 'openvino=={}'` and set {} to the package's folder",
        .path.display(), SUPPORTED, VARIABLE
    )]
    WrongVersion {
        /// The library.
        path: PathBuf,
        /// What it says that it is.
        version: String,
    },
    /// There is no such device, or it has gone.
    #[error("OpenVINO has no device {device} here, only {}; look at its driver, or plan for another processor", .available.join(", "))]
    NoDevice {
        /// The device.
        device: String,
        /// Those that there are.
        available: Vec<String>,
    },
    /// The library did not do what it was asked for.
    #[error("{what}: {detail}")]
    Failed {
        /// What was asked for.
        what: &'static str,
        /// What the library says.
        detail: String,
    },
}

impl From<OpenVinoError> for BackendError {
    fn from(error: OpenVinoError) -> Self {
        Self::Unavailable { backend: NAME.to_owned(), detail: error.to_string() }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "what `map_err` hands over")]
pub(crate) fn failed(error: InferenceError) -> BackendError {
    BackendError::failed(said(&error))
}

/// What it means that OpenVINO can read no model at all: those that it is given are ONNX.
const NO_READER: &str = "this OpenVINO has no reader of ONNX models beside it (openvino_onnx_frontend); fetch all of \
                         the package again, with `pip install 'openvino==2026.*'`";

/// What OpenVINO says of an error, in one line without where in its own source it was.
pub(crate) fn said(error: &InferenceError) -> String {
    /// Beginnings of lines that tell nothing to who does not work on OpenVINO.
    const NOISE: [&str; 6] = [
        "Exception from",
        "Check '",
        "FrontEnd API failed",
        "Summary:",
        "Model wasn't fully",
        "- Conversion is failed",
    ];
    let text = error.message.clone().unwrap_or_else(|| error.kind.to_string());
    // It lists the readers that it has.
    if text.contains("Unable to read the model") && !text.contains("onnx") {
        return NO_READER.to_owned();
    }
    let lines = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !NOISE.iter().any(|noise| line.starts_with(noise)));
    let lines: Vec<&str> = lines.collect();
    let joined = if lines.is_empty() { text.trim().replace('\n', " ") } else { lines.join(" ") };
    format!("OpenVINO: {joined}")
}
