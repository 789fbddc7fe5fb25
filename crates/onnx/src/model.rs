use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use millstream_graph::Graph;
use prost::Message;

use crate::digest::digest;
use crate::proto::{ModelProto, NodeProto, OperatorSetIdProto};
use crate::{OnnxError, Weight, read};

/// How to read a model.
#[derive(Debug, Clone)]
pub struct ReadOptions {
    /// Size of an open first dimension of an input.
    pub batch: usize,
    /// Sizes of open dimensions by name, or by input and position, `input.2`, which wins and is the only way for dimensions without
    /// a name.
    pub dimensions: BTreeMap<String, usize>,
    /// The most bytes that weights may take which the reader computes from other constants. What is beyond stays an operator that
    /// runtimes compute when they load a segment, and can't be divided by channels.
    pub most_folded_bytes: u64,
}

/// The default of [`ReadOptions::most_folded_bytes`].
const MOST_FOLDED_BYTES: u64 = 1 << 30;

impl Default for ReadOptions {
    fn default() -> Self {
        Self { batch: 1, dimensions: BTreeMap::new(), most_folded_bytes: MOST_FOLDED_BYTES }
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
    /// Reads an ONNX file and the weight files beside it.
    ///
    /// # Errors
    /// Any [`OnnxError`] but `UntypedValue`.
    pub fn read(path: &Path, options: &ReadOptions) -> Result<Self, OnnxError> {
        let bytes = std::fs::read(path).map_err(|source| OnnxError::Io { path: path.to_owned(), source })?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let mut model = Self::decode(bytes.into(), options, Some(folder))?;
        if model.graph.name().is_empty()
            && let Some(stem) = path.file_stem()
        {
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
