//! Which files belong to a model.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use prost::Message;

use crate::error::OnnxError;
use crate::model::{MOST_MODEL_BYTES, read_bounded};
use crate::proto::{ModelProto, TensorProto};

/// The files that the weights of an ONNX file are in, besides itself: by their paths from its folder, sorted. They are
/// not looked at.
///
/// # Errors
/// [`OnnxError::Io`] if the file can't be read, [`OnnxError::Malformed`] if it is no model.
pub fn weight_files(model: &Path) -> Result<Vec<PathBuf>, OnnxError> {
    let bytes = read_bounded(model, MOST_MODEL_BYTES)?;
    let malformed = |error: prost::DecodeError| OnnxError::Malformed { detail: error.to_string() };
    let graph = ModelProto::decode(bytes.as_slice()).map_err(malformed)?.graph.unwrap_or_default();
    let of_nodes = graph.node.iter().flat_map(|node| &node.attribute).filter_map(|attribute| attribute.t.as_ref());
    let files: BTreeSet<PathBuf> = graph.initializer.iter().chain(of_nodes).filter_map(file).collect();
    Ok(files.into_iter().collect())
}

/// Where a tensor's data is, if it is in another file.
fn file(tensor: &TensorProto) -> Option<PathBuf> {
    let location = tensor.external_data.iter().find(|entry| entry.key.as_deref() == Some("location"))?;
    location.value.as_deref().map(PathBuf::from)
}
