//! The operator graph: what a network computes, independent of any file format, board or backend.
//!
//! A [`Graph`] is a directed acyclic graph of [`Operator`]s. Its edges are [`Value`]s: tensors that one operator makes
//! (or the caller supplies) and others read. Weights are not values: an operator only knows how many bytes of them it
//! needs. Every operator carries a [`Work`] descriptor (multiply-accumulates, bytes, matrix shape) from which cost
//! models predict times.
//!
//! ```
//! use millstream_graph::{DataType, GraphBuilder, NewOperator, OperatorKind, Shape, Work};
//!
//! # fn main() -> Result<(), millstream_graph::GraphError> {
//! let mut builder = GraphBuilder::new("two steps");
//! let image = builder.value("image", Some(DataType::F32), Some(Shape::from([1, 3, 8, 8])))?;
//! let hidden = builder.value("hidden", Some(DataType::F32), Some(Shape::from([1, 3, 8, 8])))?;
//! let result = builder.value("result", Some(DataType::F32), Some(Shape::from([1, 3, 8, 8])))?;
//! builder.input(image);
//! builder.operator(NewOperator::new("first", "Relu", OperatorKind::Activation).reads([image]).makes([hidden]))?;
//! builder.operator(NewOperator::new("second", "Sigmoid", OperatorKind::Activation).reads([hidden]).makes([result]))?;
//! builder.output(result);
//! let graph = builder.build()?;
//!
//! let [first, second] = graph.order() else { unreachable!() };
//! assert_eq!(graph.operator(*first).name, "first");
//! let boundary = graph.boundary(&[*second]);
//! assert_eq!(boundary.inputs, [hidden]);
//! # Ok(())
//! # }
//! ```
//!
//! Invariants: this crate does no I/O, knows no file format and holds no weights; a built [`Graph`] is acyclic, and
//! every value has at most one producer.

mod boundary;
mod build;
mod channels;
mod error;
mod graph;
mod heads;
mod inseparable;
mod locality;
mod needs;
mod operator;
mod tiles;
mod value;
mod worthwhile;

pub use boundary::Boundary;
pub use build::{GraphBuilder, NewOperator};
pub use channels::ChannelUnits;
pub use error::GraphError;
pub use graph::Graph;
pub use locality::{Along, Locality, Need, Portion, Positions, Stretch, Window};
pub use operator::{
    Constants, Convolution, Family, FamilyWork, GemmShape, Operator, OperatorId, OperatorKind, Pool, Work, is_random,
};
pub use tiles::{Slab, Tile, TileRegion};
pub use value::{DataType, Shape, Value, ValueId};
