//! The network that a certificate is about.

use millstream_graph::Graph;
use millstream_partition::Chain;

/// A network and the chain of blocks that it is divided into.
#[derive(Debug, Clone, Copy)]
pub struct NetworkBlocks<'a> {
    /// The network.
    pub graph: &'a Graph,
    /// Its chain of blocks.
    pub chain: &'a Chain,
}
