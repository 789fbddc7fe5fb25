//! Element types: their numbers in the file, and which type each operator makes.

use millstream_graph::DataType;

use crate::catalogue::is_default_domain;
use crate::proto::NodeProto;

/// The type behind an ONNX `TensorProto.DataType` number.
pub(crate) fn from_onnx(number: i32) -> Option<DataType> {
    Some(match number {
        1 => DataType::F32,
        2 => DataType::U8,
        3 => DataType::I8,
        4 => DataType::U16,
        5 => DataType::I16,
        6 => DataType::I32,
        7 => DataType::I64,
        8 => DataType::String,
        9 => DataType::Bool,
        10 => DataType::F16,
        11 => DataType::F64,
        12 => DataType::U32,
        13 => DataType::U64,
        16 => DataType::Bf16,
        _ => return None,
    })
}

/// What ONNX calls an element type that there is no [`DataType`] for.
pub(crate) fn name(number: i32) -> String {
    let name = match number {
        14 => "complex64",
        15 => "complex128",
        17 => "float8e4m3fn",
        18 => "float8e4m3fnuz",
        19 => "float8e5m2",
        20 => "float8e5m2fnuz",
        21 => "uint4",
        22 => "int4",
        23 => "float4e2m1",
        24 => "float8e8m0",
        25 => "uint2",
        26 => "int2",
        other => return format!("of type number {other}"),
    };
    name.to_owned()
}

/// The ONNX `TensorProto.DataType` number of a type.
pub(crate) fn to_onnx(data_type: DataType) -> i32 {
    (1..=16).find(|&number| from_onnx(number) == Some(data_type)).unwrap_or(0)
}

/// Element type of output `index` of a node whose inputs have the given types; `None` if it isn't known.
pub(crate) fn output_type(node: &NodeProto, inputs: &[Option<DataType>], index: usize) -> Option<DataType> {
    if !node.domain.as_deref().is_none_or(is_default_domain) {
        return None;
    }
    if let Some(fixed) = fixed_type(node.op(), index) {
        return Some(fixed);
    }

    let input = |position: usize| inputs.get(position).copied().flatten();
    let declared = |attribute: &str| node.int(attribute).and_then(|number| from_onnx(i32::try_from(number).ok()?));
    match node.op() {
        "Cast" | "BitCast" => declared("to"),
        "Where" | "CastLike" => input(1),
        "OneHot" => input(2),
        "QuantizeLinear" => declared("output_dtype").or_else(|| input(2)).or(Some(DataType::U8)),
        "DequantizeLinear" => declared("output_dtype").or_else(|| input(1)),
        "QLinearConv" | "QLinearMatMul" => input(7),
        "ConstantOfShape" => match node.attribute("value") {
            None => Some(DataType::F32),
            Some(value) => from_onnx(value.t.as_ref()?.data_type?),
        },
        "RandomNormal" | "RandomUniform" => declared("dtype").or(Some(DataType::F32)),
        "RandomNormalLike" | "RandomUniformLike" | "EyeLike" | "Bernoulli" => match node.int("dtype") {
            None => input(0),
            Some(_) => declared("dtype"),
        },
        "Multinomial" => declared("dtype").or(Some(DataType::I32)),
        "HannWindow" | "HammingWindow" | "BlackmanWindow" | "MelWeightMatrix" => match node.int("output_datatype") {
            None => Some(DataType::F32),
            Some(_) => declared("output_datatype"),
        },
        op if LIKE_FIRST_INPUT.split_whitespace().any(|like| like == op) => input(0),
        _ => None,
    }
}

/// The type of output `index` where neither the inputs nor attributes matter.
fn fixed_type(op: &str, index: usize) -> Option<DataType> {
    Some(match op {
        "Shape" | "Size" | "ArgMax" | "ArgMin" | "NonZero" | "NonMaxSuppression" | "SequenceLength" => DataType::I64,
        "TopK" | "MaxPool" | "Unique" if index > 0 => DataType::I64,
        "ConvInteger" | "MatMulInteger" => DataType::I32,
        "DynamicQuantizeLinear" if index == 1 => DataType::F32,
        "DynamicQuantizeLinear" | "ImageDecoder" => DataType::U8,
        "Equal" | "Greater" | "GreaterOrEqual" | "Less" | "LessOrEqual" | "And" | "Or" | "Xor" | "Not" | "IsNaN"
        | "IsInf" | "RegexFullMatch" | "OptionalHasElement" => DataType::Bool,
        "Dropout" if index > 0 => DataType::Bool,
        "TfIdfVectorizer" => DataType::F32,
        "StringNormalizer" => DataType::String,
        _ => return None,
    })
}

/// Operators of the default domain all of whose outputs have the type of the first input, as far as the lines above do
/// not say otherwise.
const LIKE_FIRST_INPUT: &str = "Abs Acos Acosh Add AffineGrid Asin Asinh Atan Atanh Attention AveragePool BatchNormalization \
    BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Ceil Celu CenterCropPad Clip Col2Im Compress Concat Conv ConvTranspose \
    Cos Cosh CumProd CumSum DFT DeformConv DepthToSpace Det Div Dropout Einsum Elu Erf Exp Expand Flatten Floor GRU Gather \
    GatherElements GatherND Gelu Gemm GlobalAveragePool GlobalLpPool GlobalMaxPool GridSample GroupNormalization HardSigmoid \
    HardSwish Hardmax Identity InstanceNormalization LRN LSTM LayerNormalization LeakyRelu Log LogSoftmax LpNormalization LpPool \
    MatMul Max MaxPool MaxRoiPool MaxUnpool Mean MeanVarianceNormalization Min Mish Mod Mul Neg NegativeLogLikelihoodLoss PRelu \
    Pad Pow RMSNormalization RNN Range Reciprocal ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin \
    ReduceProd ReduceSum ReduceSumSquare Relu Reshape Resize ReverseSequence RoiAlign RotaryEmbedding Round STFT Scatter \
    ScatterElements ScatterND Selu Shrink Sigmoid Sign Sin Sinh Slice Softmax SoftmaxCrossEntropyLoss Softplus Softsign \
    SpaceToDepth Split Sqrt Squeeze StringConcat Sub Sum Swish Tan Tanh TensorScatter ThresholdedRelu Tile TopK Transpose Trilu \
    Unique Unsqueeze Upsample";
