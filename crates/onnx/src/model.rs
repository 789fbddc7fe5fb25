use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use millstream_graph::Graph;
use prost::Message;

use crate::digest::digest;
use crate::pieces::read_in_pieces;
use crate::proto::{ModelProto, NodeProto, OperatorSetIdProto};
use crate::{OnnxError, Weight, read};

/// How to read a model.
///
/// ```
/// use millstream_onnx::ReadOptions;
///
/// let options = ReadOptions::default().with_batch(4).with_dimensions([("height".to_owned(), 224)]);
/// assert_eq!(options.dimensions["height"], 224);
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ReadOptions {
    /// Size of an open first dimension of an input. Where none is open, another one than 1 is an error.
    pub batch: usize,
    /// Sizes of open dimensions by name, or by input and position, `input.2`, which wins and is the only way for dimensions without
    /// a name. A name that the model does not have is an error.
    pub dimensions: BTreeMap<String, usize>,
    /// The most bytes that weights may take which the reader computes from other constants. What is beyond stays an operator that
    /// runtimes compute when they load a segment, and can't be divided by channels.
    pub most_folded_bytes: u64,
    /// The most bytes that are read of files beside the model, which its weights are in. Bytes that several weights share count once.
    pub most_weight_bytes: u64,
    /// Whether a file of weights may be a link to outside the model's folder, as caches have them that keep each file once. Only for
    /// models that are trusted: whoever makes the link chooses a file that is read.
    pub linked_weights: bool,
}

/// The default of [`ReadOptions::batch`].
pub(crate) const USUAL_BATCH: usize = 1;
/// The default of [`ReadOptions::most_folded_bytes`].
const MOST_FOLDED_BYTES: u64 = 1 << 30;
/// The default of [`ReadOptions::most_weight_bytes`].
const MOST_WEIGHT_BYTES: u64 = 16 << 30;
/// The most bytes that a file in Protocol Buffers' format has.
pub(crate) const MOST_MODEL_BYTES: u64 = 2 << 30;

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            batch: USUAL_BATCH,
            dimensions: BTreeMap::new(),
            most_folded_bytes: MOST_FOLDED_BYTES,
            most_weight_bytes: MOST_WEIGHT_BYTES,
            linked_weights: false,
        }
    }
}

impl ReadOptions {
    /// The same with another [`ReadOptions::batch`].
    #[must_use]
    pub fn with_batch(self, batch: usize) -> Self {
        Self { batch, ..self }
    }

    /// The same with these [`ReadOptions::dimensions`] and no others.
    #[must_use]
    pub fn with_dimensions(self, dimensions: impl IntoIterator<Item = (String, usize)>) -> Self {
        Self { dimensions: dimensions.into_iter().collect(), ..self }
    }

    /// The same with another [`ReadOptions::most_folded_bytes`].
    #[must_use]
    pub fn with_most_folded_bytes(self, most_folded_bytes: u64) -> Self {
        Self { most_folded_bytes, ..self }
    }

    /// The same with another [`ReadOptions::most_weight_bytes`].
    #[must_use]
    pub fn with_most_weight_bytes(self, most_weight_bytes: u64) -> Self {
        Self { most_weight_bytes, ..self }
    }

    /// The same with another [`ReadOptions::linked_weights`].
    #[must_use]
    pub fn with_linked_weights(self, linked_weights: bool) -> Self {
        Self { linked_weights, ..self }
    }
}

/// A network with its weights.
#[derive(Debug, Clone)]
pub struct Model {
    pub(crate) graph: Arc<Graph>,
    /// One per operator of the graph.
    pub(crate) nodes: Vec<NodeProto>,
    /// Nodes whose inputs are all constant, by each output that they make. They are part of every segment that needs them.
    pub(crate) constant_nodes: HashMap<String, Arc<NodeProto>>,
    pub(crate) weights: BTreeMap<String, Weight>,
    pub(crate) header: Header,
    digest: String,
}

/// What every sub-model repeats.
#[derive(Debug, Clone, Default)]
pub(crate) struct Header {
    pub(crate) ir_version: Option<i64>,
    pub(crate) opset_import: Vec<OperatorSetIdProto>,
    pub(crate) functions: Vec<Bytes>,
}

impl Model {
    /// Reads an ONNX file and the weight files beside it. It is called as its file is, without the extension: what stands in the file is often
    /// the same for all that an exporter made.
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

    pub(crate) fn assemble(
        graph: Graph,
        nodes: Vec<NodeProto>,
        constant_nodes: HashMap<String, Arc<NodeProto>>,
        weights: BTreeMap<String, Weight>,
        header: Header,
    ) -> Self {
        let digest = digest(&graph, &nodes, &constant_nodes, &weights, &header);
        Self { graph: Arc::new(graph), nodes, constant_nodes, weights, header, digest }
    }

    /// The operators and values.
    pub fn graph(&self) -> &Arc<Graph> {
        &self.graph
    }

    /// The weights by name.
    pub fn weights(&self) -> &BTreeMap<String, Weight> {
        &self.weights
    }

    /// Identifies the model's content: a SHA-256 over operators, shapes, weights, operator sets and functions, in hexadecimal.
    pub fn digest(&self) -> &str {
        &self.digest
    }
}

/// The content of a file, which may be a pipe, or a device that never ends.
pub(crate) fn read_bounded(path: &Path, limit: u64) -> Result<Vec<u8>, OnnxError> {
    let failed = |source| OnnxError::Io { path: path.to_owned(), source };
    let too_large = || OnnxError::FileTooLarge { path: path.to_owned(), limit };
    let mut file = File::open(path).map_err(failed)?;
    let known = file.metadata().map_err(failed)?.len();
    if known > limit {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(known as usize).map_err(|error| failed(error.into()))?;
    read_in_pieces(&mut file, limit + 1, &mut bytes).map_err(failed)?;
    if bytes.len() as u64 > limit { Err(too_large()) } else { Ok(bytes) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    #[test]
    fn files_are_read_up_to_a_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, [7; 100]).unwrap();
        assert_eq!(read_bounded(&path, 100).unwrap(), [7; 100]);
        assert!(matches!(read_bounded(&path, 99), Err(OnnxError::FileTooLarge { limit: 99, .. })));
        // Its size is not known before it is read.
        #[cfg(unix)]
        assert!(matches!(read_bounded(Path::new("/dev/zero"), 5000), Err(OnnxError::FileTooLarge { .. })));
        // It takes no disk.
        File::create(&path).unwrap().set_len(1 << 40).unwrap();
        assert!(matches!(read_bounded(&path, MOST_MODEL_BYTES), Err(OnnxError::FileTooLarge { .. })));
    }
}
