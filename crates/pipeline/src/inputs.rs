//! What problems are made from.

use millstream_board::Board;
use millstream_cost::CostTable;
use millstream_graph::Graph;
use millstream_partition::Chain;

/// A network, a board, and the costs of the network's operators on the board's processors: what a
/// [`Problem`](crate::Problem) is made from.
#[derive(Debug, Clone, Copy)]
pub struct ProblemInputs<'a> {
    /// The network.
    pub graph: &'a Graph,
    /// The chain of blocks that the network is divided into.
    pub chain: &'a Chain,
    /// The board.
    pub board: &'a Board,
    /// Times and powers of the network's operators on the board's processors.
    pub table: &'a CostTable,
}
