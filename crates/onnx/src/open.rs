//! Models from files.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use prost::Message;

use crate::error::OnnxError;
use crate::model::{MOST_MODEL_BYTES, Model, read_bounded};
use crate::options::ReadOptions;
use crate::proto::ModelProto;
use crate::read;

impl Model {
    /// Reads an ONNX file and the weight files beside it. It is called as its file is, without the extension: what
    /// stands in the file is often the same for all that an exporter made.
    ///
    /// # Errors
    /// Any [`OnnxError`] but `UntypedValue`.
    pub fn read(path: &Path, options: &ReadOptions) -> Result<Self, OnnxError> {
        let bytes = read_bounded(path, MOST_MODEL_BYTES)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let mut model = Self::decode(bytes.into(), options, Some(folder))?;
        if let Some(stem) = path.file_stem() {
            let mut graph = (*model.graph).clone();
            graph.rename(stem.to_string_lossy());
            model.graph = Arc::new(graph);
        }
        Ok(model)
    }

    /// Reads a model that carries all its weights.
    ///
    /// # Errors
    /// Any [`OnnxError`] but `UntypedValue`.
    pub fn from_bytes(bytes: Bytes, options: &ReadOptions) -> Result<Self, OnnxError> {
        Self::decode(bytes, options, None)
    }

    fn decode(bytes: Bytes, options: &ReadOptions, folder: Option<&Path>) -> Result<Self, OnnxError> {
        let malformed = |detail: String| OnnxError::Malformed { detail };
        if bytes.is_empty() {
            return Err(malformed("the file is empty".to_owned()));
        }
        let proto = ModelProto::decode(bytes).map_err(|error| malformed(error.to_string()))?;
        read::model(proto, options, folder)
    }
}
