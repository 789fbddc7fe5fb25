//! ONNX files to and from operator graphs.
//!
//! [`Model::read`] loads a file with its weights (in the file or beside it), fixes open dimensions, folds shape
//! arithmetic, and describes every operator. Operators without a descriptor stay in the graph as opaque ones.
//! [`Model::segment`] writes any set of operators back as an ONNX model of its own, which is how backends over ONNX
//! runtimes execute stages. [`ModelBuilder`] makes models from code.
//!
//! ```
//! use millstream_onnx::{ModelBuilder, ReadOptions, Model, WeightStorage};
//!
//! # fn main() -> Result<(), millstream_onnx::OnnxError> {
//! let mut builder = ModelBuilder::new("doubling");
//! let image = builder.input("image", [1, 3, 8, 8]);
//! let result = builder.node("Add", &[&image, &image]);
//! builder.output(&result);
//! let model = builder.build()?;
//!
//! let whole = model.segment(model.graph().order(), WeightStorage::Inline)?;
//! let again = Model::from_bytes(whole.bytes.into(), &ReadOptions::default())?;
//! assert_eq!(again.graph().operators().len(), 1);
//! # Ok(())
//! # }
//! ```
//!
//! Invariants: nothing here runs a network; operators keep the version of the operator set that their file declares; a
//! [`Model`] never changes once it is built.

mod apart;
mod attributes;
mod builder;
mod catalogue;
mod constant_results;
mod constants;
mod describe;
mod digest;
mod dimensions;
mod error;
mod evaluate;
mod external;
mod fold;
mod functions;
mod header;
mod infer;
mod knowledge;
mod leftovers;
mod locality;
mod located;
mod model;
mod moved;
mod moves;
mod names;
mod nested;
mod open;
mod options;
mod part;
mod pieces;
#[doc(hidden)]
pub mod proto;
mod quantised;
mod quiet;
mod read;
mod recurrent;
mod rules;
mod segment;
mod slice;
mod tile;
mod types;
mod view;
mod weight;
mod windows;

pub use builder::{Attributes, ModelBuilder};
#[doc(hidden)]
pub use catalogue::operator_types;
pub use error::OnnxError;
pub use located::weight_files;
pub use model::Model;
pub use options::ReadOptions;
pub use segment::{SubModel, WeightStorage};
pub use view::NodeView;
pub use weight::Weight;

/// The oldest operator set of the default domain that is read. ONNX Runtime promises to run those from 7 on, and runs
/// most older ones.
pub const OLDEST_OPSET: i64 = 1;
/// The newest operator set of the default domain that this version was written for.
pub const NEWEST_OPSET: i64 = 26;
