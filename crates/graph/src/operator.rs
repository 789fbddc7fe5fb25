//! Operators: what they are, and how much they compute and move.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::locality::Locality;
use crate::value::ValueId;

/// Identifies an [`Operator`] of one [`Graph`](crate::Graph).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OperatorId(pub(crate) u32);

impl OperatorId {
    /// The operator at a position in [`Graph::operators`](crate::Graph::operators).
    pub const fn new(index: usize) -> Self {
        Self(index as u32)
    }

    /// The operators of a graph that has so many.
    pub fn all(count: usize) -> impl ExactSizeIterator<Item = Self> + use<> {
        (0..count).map(Self::new)
    }

    /// Position of the operator in [`Graph::operators`](crate::Graph::operators).
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// One node of the network.
#[derive(Debug, Clone, PartialEq)]
pub struct Operator {
    /// Unique name.
    pub name: String,
    /// The operator's type as the model file calls it, such as `Conv`.
    pub op_type: String,
    /// What it is to a cost model.
    pub kind: OperatorKind,
    /// Values that it reads; weights are not among them. No value occurs twice.
    pub inputs: Vec<ValueId>,
    /// Values that it makes.
    pub outputs: Vec<ValueId>,
    /// What its constant inputs mean for dividing it.
    pub constants: Constants,
    /// Which elements of its inputs it needs for one element of its output.
    pub locality: Locality,
    /// How much it computes and moves.
    pub work: Work,
}

impl Operator {
    /// Whether it turns floats into integers by a scale that the model fixes.
    pub fn is_quantization(&self) -> bool {
        self.op_type == "QuantizeLinear"
    }

    /// Whether it turns integers back into floats.
    pub fn is_dequantization(&self) -> bool {
        self.op_type == "DequantizeLinear"
    }

    /// Whether it draws random numbers, so that its results are different each time.
    pub fn is_random(&self) -> bool {
        is_random(&self.op_type)
    }
}

/// Whether operators of an ONNX type draw random numbers.
pub fn is_random(op_type: &str) -> bool {
    const RANDOM: [&str; 6] =
        ["RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Bernoulli", "Multinomial"];
    RANDOM.contains(&op_type)
}

/// What the constant inputs of an operator mean for dividing it by channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Constants {
    /// Parts can be taken of all of them. A weight matrix is the second operand of its product: its columns are
    /// channels.
    #[default]
    Divisible,
    /// As `Divisible`, with a weight matrix that is the first operand: its rows are channels.
    WeightsFirst,
    /// No parts can be taken of some: they are computed when the model is loaded, or lie across the channels.
    Computed,
}

/// What an operator does, as far as scheduling needs to know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum OperatorKind {
    /// A convolution with constant weights.
    Convolution(Convolution),
    /// A convolution of quantised values that makes quantised values: `QLinearConv`, or `Conv` between dequantisations
    /// and a quantisation.
    QuantizedConvolution(Convolution),
    /// A convolution of quantised values that makes 32-bit sums: `ConvInteger`.
    IntegerConvolution(Convolution),
    /// A matrix multiplication with a constant weight matrix.
    FullyConnected,
    /// A matrix multiplication of quantised values that makes quantised values: `QLinearMatMul`, or `MatMul` or `Gemm`
    /// between dequantisations and a quantisation.
    QuantizedMatrixMultiplication {
        /// Whether one operand is a constant weight matrix.
        has_weights: bool,
    },
    /// A matrix multiplication of quantised values that makes 32-bit sums: `MatMulInteger`.
    IntegerMatrixMultiplication {
        /// Whether one operand is a constant weight matrix.
        has_weights: bool,
    },
    /// A matrix multiplication of two values.
    MatrixMultiplication,
    /// Maximum or average over a window.
    Pool(Pool),
    /// An element-wise function of one value.
    Activation,
    /// An element-wise function of several values, or of one value and constants.
    Elementwise,
    /// Batch, layer, instance or local response normalisation.
    Normalization,
    /// Joining values along one dimension.
    Concat,
    /// Softmax and its relatives.
    Softmax,
    /// Between floats and integers with a scale that the model fixes: `QuantizeLinear`, `DequantizeLinear`.
    Quantization,
    /// From floats to integers with a scale found in the values: `DynamicQuantizeLinear`.
    DynamicQuantization,
    /// Anything that only moves or relabels elements: reshape, transpose, slice, pad, resize.
    DataMovement,
    /// An operator without a model of its own. It runs; only its cost is less well known.
    Opaque,
}

/// Shape parameters of a convolution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Convolution {
    /// Channels of the input.
    pub input_channels: usize,
    /// Channels of the output (number of filters).
    pub output_channels: usize,
    /// Window size per spatial dimension.
    pub kernel: Vec<usize>,
    /// Step per spatial dimension.
    pub strides: Vec<usize>,
    /// Spacing of the window's taps per spatial dimension.
    pub dilations: Vec<usize>,
    /// Number of channel groups; equal to `input_channels` in a depthwise convolution.
    pub groups: usize,
}

/// Window parameters of a pooling operator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pool {
    /// Window size per spatial dimension; the whole input for global pooling.
    pub kernel: Vec<usize>,
    /// Step per spatial dimension.
    pub strides: Vec<usize>,
}

/// Groups of operators whose time follows one model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Family {
    /// Convolution in one group: compute-bound.
    Convolution,
    /// Convolution in several groups of more than two input channels each.
    GroupedConvolution,
    /// Convolution with one or two input channels per group: bound by memory traffic.
    DepthwiseConvolution,
    /// Convolution of quantised values to quantised values.
    QuantizedConvolution,
    /// Convolution of quantised values to 32-bit sums.
    IntegerConvolution,
    /// Matrix multiplication with constant weights: bound by reading the weights when the batch is small.
    FullyConnected,
    /// Matrix multiplication of quantised values to quantised values.
    QuantizedMatrixMultiplication,
    /// Matrix multiplication of quantised values to 32-bit sums.
    IntegerMatrixMultiplication,
    /// Between floats and integers with a known scale.
    Quantization,
    /// From floats to integers with a scale found in the values.
    DynamicQuantization,
    /// Matrix multiplication of two values, as in attention.
    MatrixMultiplication,
    /// Pooling.
    Pool,
    /// Element-wise operators and activations.
    Elementwise,
    /// Batch, layer, instance and local response normalisation.
    Normalization,
    /// Softmax and its relatives.
    Softmax,
    /// Joining values.
    Concat,
    /// Reshape, transpose, slice, pad, resize.
    DataMovement,
    /// Anything else.
    Opaque,
}

impl Family {
    /// All families.
    pub const ALL: [Self; 18] = [
        Self::Convolution,
        Self::GroupedConvolution,
        Self::DepthwiseConvolution,
        Self::QuantizedConvolution,
        Self::IntegerConvolution,
        Self::FullyConnected,
        Self::QuantizedMatrixMultiplication,
        Self::IntegerMatrixMultiplication,
        Self::Quantization,
        Self::DynamicQuantization,
        Self::MatrixMultiplication,
        Self::Pool,
        Self::Elementwise,
        Self::Normalization,
        Self::Softmax,
        Self::Concat,
        Self::DataMovement,
        Self::Opaque,
    ];

    /// The name, as in files: `depthwise-convolution`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Convolution => "convolution",
            Self::GroupedConvolution => "grouped-convolution",
            Self::DepthwiseConvolution => "depthwise-convolution",
            Self::QuantizedConvolution => "quantized-convolution",
            Self::IntegerConvolution => "integer-convolution",
            Self::FullyConnected => "fully-connected",
            Self::QuantizedMatrixMultiplication => "quantized-matrix-multiplication",
            Self::IntegerMatrixMultiplication => "integer-matrix-multiplication",
            Self::Quantization => "quantization",
            Self::DynamicQuantization => "dynamic-quantization",
            Self::MatrixMultiplication => "matrix-multiplication",
            Self::Pool => "pool",
            Self::Elementwise => "elementwise",
            Self::Normalization => "normalization",
            Self::Softmax => "softmax",
            Self::Concat => "concat",
            Self::DataMovement => "data-movement",
            Self::Opaque => "opaque",
        }
    }
}

/// What the operators of a family spend their time on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FamilyWork {
    /// Multiply-accumulates of convolutions over all channels.
    DenseConvolution,
    /// Multiply-accumulates of convolutions in groups of channels.
    GroupedConvolution,
    /// Multiply-accumulates of matrix products.
    MatrixProduct,
    /// Reading and writing values.
    Values,
}

impl Family {
    /// What its operators spend their time on.
    pub fn work(self) -> FamilyWork {
        match self {
            Self::Convolution | Self::QuantizedConvolution | Self::IntegerConvolution => FamilyWork::DenseConvolution,
            Self::GroupedConvolution | Self::DepthwiseConvolution => FamilyWork::GroupedConvolution,
            Self::FullyConnected
            | Self::MatrixMultiplication
            | Self::QuantizedMatrixMultiplication
            | Self::IntegerMatrixMultiplication => FamilyWork::MatrixProduct,
            Self::Quantization
            | Self::DynamicQuantization
            | Self::Pool
            | Self::Elementwise
            | Self::Normalization
            | Self::Softmax
            | Self::Concat
            | Self::DataMovement
            | Self::Opaque => FamilyWork::Values,
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl OperatorKind {
    /// The parameters of a convolution, quantised or not.
    pub fn convolution(&self) -> Option<&Convolution> {
        match self {
            Self::Convolution(convolution)
            | Self::QuantizedConvolution(convolution)
            | Self::IntegerConvolution(convolution) => Some(convolution),
            _ => None,
        }
    }

    /// Whether it is the product of a value and a constant matrix, quantised or not.
    pub fn has_weight_matrix(&self) -> bool {
        matches!(
            self,
            Self::FullyConnected
                | Self::QuantizedMatrixMultiplication { has_weights: true }
                | Self::IntegerMatrixMultiplication { has_weights: true }
        )
    }

    /// The family whose cost model applies.
    pub fn family(&self) -> Family {
        match self {
            Self::Convolution(convolution) if convolution.groups <= 1 => Family::Convolution,
            Self::Convolution(convolution) if convolution.input_channels <= convolution.groups.saturating_mul(2) => {
                Family::DepthwiseConvolution
            }
            Self::Convolution(_) => Family::GroupedConvolution,
            Self::QuantizedConvolution(_) => Family::QuantizedConvolution,
            Self::IntegerConvolution(_) => Family::IntegerConvolution,
            Self::FullyConnected => Family::FullyConnected,
            Self::QuantizedMatrixMultiplication { .. } => Family::QuantizedMatrixMultiplication,
            Self::IntegerMatrixMultiplication { .. } => Family::IntegerMatrixMultiplication,
            Self::Quantization => Family::Quantization,
            Self::DynamicQuantization => Family::DynamicQuantization,
            Self::MatrixMultiplication => Family::MatrixMultiplication,
            Self::Pool(_) => Family::Pool,
            Self::Activation | Self::Elementwise => Family::Elementwise,
            Self::Normalization => Family::Normalization,
            Self::Softmax => Family::Softmax,
            Self::Concat => Family::Concat,
            Self::DataMovement => Family::DataMovement,
            Self::Opaque => Family::Opaque,
        }
    }
}

/// How much an operator computes and moves for one frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Work {
    /// Multiply-accumulate operations.
    pub macs: u64,
    /// Bytes of the values it reads.
    pub input_bytes: u64,
    /// Bytes of its weights.
    pub weight_bytes: u64,
    /// Bytes of the values it makes.
    pub output_bytes: u64,
    /// The matrix product it amounts to, for convolutions and matrix multiplications.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gemm: Option<GemmShape>,
}

impl Work {
    /// All bytes that the operator touches.
    pub fn bytes(&self) -> u64 {
        self.input_bytes.saturating_add(self.weight_bytes).saturating_add(self.output_bytes)
    }
}

/// Dimensions of the matrix product `[n x k] * [k x m]` (Pipe-it, section V-A: image-to-column matrix times filter
/// matrix).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GemmShape {
    /// Rows of the product: output positions (or batch).
    pub n: u64,
    /// Inner dimension: kernel elements times input channels per group.
    pub k: u64,
    /// Columns of the product: output channels.
    pub m: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From a file that claims it.
    #[test]
    fn a_convolution_may_have_any_number_of_groups() {
        let groups = usize::MAX / 2 + 1;
        let one = || vec![1];
        let (kernel, strides, dilations) = (one(), one(), one());
        let convolution = Convolution { input_channels: 3, output_channels: 3, kernel, strides, dilations, groups };
        assert_eq!(OperatorKind::Convolution(convolution).family(), Family::DepthwiseConvolution);
    }
}
