//! Which operators exist, and what each is to a cost model.

use std::collections::HashSet;

use bytes::Bytes;
use millstream_graph::is_random;
use prost::Message;

use crate::error::OnnxError;
use crate::proto::{FunctionHeader, NodeProto};

/// All operators of the default domain, operator sets 7 to 26.
const DEFAULT_DOMAIN: &str = "Abs Acos Acosh Add AffineGrid And ArgMax ArgMin Asin Asinh Atan Atanh Attention AveragePool \
    BatchNormalization Bernoulli BitCast BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor BlackmanWindow Cast CastLike \
    Ceil Celu CenterCropPad Clip Col2Im Compress Concat ConcatFromSequence Constant ConstantOfShape Conv ConvInteger \
    ConvTranspose Cos Cosh CumProd CumSum DFT DeformConv DepthToSpace DequantizeLinear Det Div Dropout \
    DynamicQuantizeLinear Einsum Elu Equal Erf Exp Expand EyeLike Flatten Floor GRU Gather GatherElements GatherND Gelu \
    Gemm GlobalAveragePool GlobalLpPool GlobalMaxPool Greater GreaterOrEqual GridSample GroupNormalization HammingWindow \
    HannWindow HardSigmoid HardSwish Hardmax Identity If ImageDecoder InstanceNormalization IsInf IsNaN LRN LSTM \
    LayerNormalization LeakyRelu Less LessOrEqual Log LogSoftmax Loop LpNormalization LpPool MatMul MatMulInteger Max \
    MaxPool MaxRoiPool MaxUnpool Mean MeanVarianceNormalization MelWeightMatrix Min Mish Mod Mul Multinomial Neg \
    NegativeLogLikelihoodLoss NonMaxSuppression NonZero Not OneHot Optional OptionalGetElement OptionalHasElement Or PRelu \
    Pad Pow QLinearConv QLinearMatMul QuantizeLinear RMSNormalization RNN RandomNormal RandomNormalLike RandomUniform \
    RandomUniformLike Range Reciprocal ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin \
    ReduceProd ReduceSum ReduceSumSquare RegexFullMatch Relu Reshape Resize ReverseSequence RoiAlign RotaryEmbedding Round \
    STFT Scan Scatter ScatterElements ScatterND Selu SequenceAt SequenceConstruct SequenceEmpty SequenceErase \
    SequenceInsert SequenceLength SequenceMap Shape Shrink Sigmoid Sign Sin Sinh Size Slice Softmax \
    SoftmaxCrossEntropyLoss Softplus Softsign SpaceToDepth Split SplitToSequence Sqrt Squeeze StringConcat \
    StringNormalizer StringSplit Sub Sum Swish Tan Tanh TensorScatter TfIdfVectorizer ThresholdedRelu Tile TopK Transpose \
    Trilu Unique Unsqueeze Upsample Where Xor";

/// The types of the default domain, for tests that make models of them.
#[doc(hidden)]
pub fn operator_types() -> impl Iterator<Item = &'static str> {
    DEFAULT_DOMAIN.split_whitespace()
}

/// Refuses types of the default domain that neither ONNX nor the model's own functions define. Other domains are left
/// to ONNX Runtime.
pub(crate) fn check(nodes: &[NodeProto], functions: &[Bytes]) -> Result<(), OnnxError> {
    let standard: HashSet<&str> = DEFAULT_DOMAIN.split_whitespace().collect();
    let defined: HashSet<String> = functions
        .iter()
        .filter_map(|function| FunctionHeader::decode(function.clone()).ok())
        .filter_map(|header| header.name)
        .collect();
    for node in nodes {
        let domain = node.domain.as_deref().unwrap_or_default();
        if is_default_domain(domain) && !standard.contains(node.op()) && !defined.contains(node.op()) {
            let operator = node.name.clone().unwrap_or_default();
            return Err(OnnxError::UnknownOperator { operator, op_type: node.op().to_owned() });
        }
    }
    Ok(())
}

pub(crate) fn is_default_domain(domain: &str) -> bool {
    domain.is_empty() || domain == "ai.onnx"
}

/// Whether equal inputs give equal outputs, so that a node of constants is a constant itself.
pub(crate) fn is_deterministic(node: &NodeProto) -> bool {
    !is_random(node.op())
        && !matches!(node.op(), "Dropout" | "If" | "Loop" | "Scan")
        && is_default_domain(node.domain.as_deref().unwrap_or_default())
}
