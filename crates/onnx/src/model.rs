//! A network as it was read: its graph, the nodes behind it, its weights and its digest.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use millstream_graph::Graph;

use crate::digest::digest;
use crate::error::OnnxError;
use crate::header::Header;
use crate::pieces::read_in_pieces;
use crate::proto::NodeProto;
use crate::weight::Weight;

/// The most bytes that a file in Protocol Buffers' format has.
pub(crate) const MOST_MODEL_BYTES: u64 = 2 << 30;

/// A network with its weights.
#[derive(Debug, Clone)]
pub struct Model {
    pub(crate) graph: Arc<Graph>,
    /// One per operator of the graph.
    pub(crate) nodes: Vec<NodeProto>,
    /// Nodes whose inputs are all constant, by each output that they make. They are part of every segment that needs
    /// them.
    pub(crate) constant_nodes: HashMap<String, Arc<NodeProto>>,
    pub(crate) weights: BTreeMap<String, Weight>,
    pub(crate) header: Header,
    digest: String,
}

impl Model {
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

    /// Identifies the model's content: a SHA-256 over operators, shapes, weights, operator sets and functions, in
    /// hexadecimal.
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
