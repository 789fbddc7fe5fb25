//! Faults of models: unreadable files, unknown operators and dimensions, weights out of bounds, impossible cuts.

use std::path::PathBuf;

use millstream_graph::{GraphError, Shape};
use thiserror::Error;

/// Why a model could not be read or cut.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OnnxError {
    /// A file could not be read.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The bytes are not an ONNX model.
    #[error("not an ONNX model, or one that is cut off or damaged: {detail}; export the model again")]
    Malformed {
        /// What is wrong with them.
        detail: String,
    },
    /// The model needs an operator set that ONNX Runtime does not run.
    #[error(
        "the model uses operator set {version} of the default domain; versions {} to {} are read: convert it with onnx.version_converter",
        crate::OLDEST_OPSET,
        crate::NEWEST_OPSET
    )]
    Opset {
        /// The version it asks for.
        version: i64,
    },
    /// An operator of the default domain that does not exist.
    #[error("operator '{operator}' has the type '{op_type}', which is no ONNX operator and no function of this model")]
    UnknownOperator {
        /// The node's name.
        operator: String,
        /// Its type.
        op_type: String,
    },
    /// Dimensions of the inputs that the file leaves open.
    #[error("the model leaves dimensions open: {}; give each a size (`dimensions` of the options)", dimensions.join(", "))]
    OpenDimensions {
        /// `name (of input 'x')`, one each.
        dimensions: Vec<String>,
    },
    /// Sizes for dimensions that the file does not leave open.
    #[error(
        "the model has no open dimension called {}; {}",
        unknown.join(" or "),
        match open.as_slice() {
            [] => "all of its sizes are fixed".to_owned(),
            open => format!("those that it leaves open are {}", open.join(", ")),
        }
    )]
    UnknownDimensions {
        /// Names that were given a size.
        unknown: Vec<String>,
        /// What the file leaves open, by name, or by input and position.
        open: Vec<String>,
    },
    /// A batch where no input leaves its first dimension open.
    #[error("no input of the model leaves its first dimension open, so it can't be a batch of {batch}")]
    NoBatch {
        /// The batch that was asked for.
        batch: usize,
    },
    /// A value that no machine could hold.
    #[error(
        "the value '{value}' of shape {shape} is larger than {} GiB; check the sizes that its open dimensions are given, and its \
         attributes",
        limit >> 30
    )]
    TooLarge {
        /// The value's name.
        value: String,
        /// Its shape.
        shape: Shape,
        /// The most bytes that a value may have.
        limit: u64,
    },
    /// A file that is larger than any model can be.
    #[error("{} has more than {} GiB, and no ONNX file has: keep large weights in files of their own beside it", path.display(), limit >> 30)]
    FileTooLarge {
        /// The file.
        path: PathBuf,
        /// The most bytes that it may have.
        limit: u64,
    },
    /// More weights than may be read.
    #[error(
        "with weight '{weight}', the files beside the model have more than {:.1} GiB of weights; allow more in the options if you trust the model",
        *limit as f64 / f64::from(1 << 30)
    )]
    WeightsTooLarge {
        /// The first weight that is too much.
        weight: String,
        /// The most bytes, [`crate::ReadOptions::most_weight_bytes`].
        limit: u64,
    },
    /// A weight that can't be loaded.
    #[error("weight '{weight}': {detail}")]
    Weight {
        /// The initializer's name.
        weight: String,
        /// What is wrong.
        detail: String,
    },
    /// A weight that is not a number.
    #[error("weight '{weight}' contains NaN at element {element}; the model would return NaN for every frame")]
    NanWeight {
        /// The initializer's name.
        weight: String,
        /// First element that is NaN.
        element: usize,
    },
    /// Something that is legal ONNX and not supported.
    #[error("{what} is not supported{remedy}")]
    Unsupported {
        /// What the model contains.
        what: String,
        /// What to do, starting with a separator, or empty.
        remedy: String,
    },
    /// A segment can't be cut here.
    #[error("the value '{value}' has no known element type, so no segment can start or end at it")]
    UntypedValue {
        /// The value's name.
        value: String,
    },
    /// The operators do not form a graph.
    #[error(transparent)]
    Graph(#[from] GraphError),
}
