//! Where a network may be cut.
//!
//! Some operators belong together: a runtime fuses a convolution with the normalisation, activation or residual
//! addition that follows it, and cutting between them would only cost. [`Chain::of`] merges those, puts the merged
//! operators into one linear order, and joins neighbours between which no cut is possible. A pipeline stage is then a
//! contiguous range of the chain's [`Block`]s. Cuts may go through branches: every value that is still needed crosses.
//!
//! ```
//! use millstream_partition::Chain;
//!
//! let model = millstream_zoo::build("googlenet")?;
//! let chain = Chain::of(model.graph());
//! assert!(chain.blocks().len() > 58, "at least one block per weighted layer");
//! let bytes = chain.input_bytes(model.graph());
//! assert_eq!(bytes.of(chain.whole()), 0, "a stage that starts the pipeline receives nothing from another");
//! # Ok::<(), millstream_zoo::ZooError>(())
//! ```
//!
//! Invariants: the blocks of a chain contain every operator once, and their concatenation is a topological order. This
//! crate knows no board and no cost.

mod block;
mod bytes;
mod chain;
mod into_subgraphs;
mod joined;
mod merge;
mod merged;
mod subgraph;

pub use block::{Block, BlockId, BlockRange};
pub use bytes::InputBytes;
pub use chain::Chain;
pub use into_subgraphs::subgraphs;
pub use joined::joined;
pub use merged::reachability;
pub use subgraph::{Subgraph, SubgraphId};
