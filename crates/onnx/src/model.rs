use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use millstream_graph::Graph;
use prost::Message;
use sha2::{Digest, Sha256};

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

fn digest(
    graph: &Graph,
    nodes: &[NodeProto],
    constant_nodes: &HashMap<String, Arc<NodeProto>>,
    weights: &BTreeMap<String, Weight>,
    header: &Header,
) -> String {
    let mut hasher = Hasher(Sha256::new());
    hasher.list(nodes.iter().map(Message::encode_to_vec));
    // A node of several outputs is there once for each of them.
    let by_output: BTreeMap<_, _> = constant_nodes.iter().collect();
    hasher.list(by_output.values().map(|node| node.encode_to_vec()));
    for value in graph.values() {
        hasher.part(format!("{}{:?}{:?}", value.name, value.data_type, value.shape).as_bytes());
    }
    for ids in [graph.inputs(), graph.outputs()] {
        hasher.list(ids.iter().map(|&id| graph.value(id).name.as_bytes().to_vec()));
    }
    for (name, weight) in weights {
        hasher.part(format!("{name}{}{}", weight.data_type, weight.shape).as_bytes());
        hasher.part(&weight.data);
    }
    hasher.list(header.opset_import.iter().map(Message::encode_to_vec));
    hasher.list(header.functions.iter().map(|function| function.to_vec()));
    hasher.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Hashes parts with their lengths, so that nothing moves unnoticed from one to the next.
struct Hasher(Sha256);

impl Hasher {
    fn part(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    fn list(&mut self, parts: impl ExactSizeIterator<Item = Vec<u8>>) {
        self.0.update((parts.len() as u64).to_le_bytes());
        parts.for_each(|part| self.part(&part));
    }
}
