//! Element types: their numbers in the file, and which type each operator makes.

use millstream_graph::DataType;

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

/// The ONNX `TensorProto.DataType` number of a type.
pub(crate) fn to_onnx(data_type: DataType) -> i32 {
    (1..=16).find(|&number| from_onnx(number) == Some(data_type)).unwrap_or(0)
}

/// Element type of output `index` of a node whose inputs have the given types; `None` if it isn't known.
pub(crate) fn output_type(node: &NodeProto, inputs: &[Option<DataType>], index: usize) -> Option<DataType> {
    let input = |position: usize| inputs.get(position).copied().flatten();
    let declared = |attribute: &str| node.int(attribute).and_then(|number| from_onnx(number as i32));
    match node.op() {
        "Shape" | "Size" | "ArgMax" | "ArgMin" | "NonZero" | "NonMaxSuppression" => Some(DataType::I64),
        "Cast" => declared("to"),
        "Equal" | "Greater" | "GreaterOrEqual" | "Less" | "LessOrEqual" | "And" | "Or" | "Xor" | "Not" | "IsNaN"
        | "IsInf" => Some(DataType::Bool),
        "TopK" | "MaxPool" | "Unique" if index > 0 => Some(DataType::I64),
        "Dropout" if index > 0 => Some(DataType::Bool),
        "Where" | "CastLike" => input(1),
        "OneHot" => input(2),
        "QuantizeLinear" => declared("output_dtype").or_else(|| input(2)).or(Some(DataType::U8)),
        "DequantizeLinear" => input(1),
        "DynamicQuantizeLinear" => Some(if index == 1 { DataType::F32 } else { DataType::U8 }),
        "QLinearConv" | "QLinearMatMul" => input(7),
        "ConvInteger" | "MatMulInteger" => Some(DataType::I32),
        "ConstantOfShape" => match node.attribute("value") {
            None => Some(DataType::F32),
            Some(value) => from_onnx(value.t.as_ref()?.data_type?),
        },
        "RandomNormal" | "RandomUniform" => declared("dtype").or(Some(DataType::F32)),
        "RandomNormalLike" | "RandomUniformLike" | "EyeLike" => declared("dtype").or_else(|| input(0)),
        "Multinomial" => declared("dtype").or(Some(DataType::I32)),
        "HannWindow" | "HammingWindow" | "BlackmanWindow" => declared("output_datatype").or(Some(DataType::F32)),
        "If" | "Loop" | "Scan" | "SequenceConstruct" | "SequenceEmpty" | "SplitToSequence" | "SequenceInsert"
        | "SequenceErase" | "SequenceMap" | "SequenceAt" | "ConcatFromSequence" | "Optional" | "OptionalGetElement"
        | "OptionalHasElement" | "StringNormalizer" | "TfIdfVectorizer" | "LabelEncoder" | "ImageDecoder"
        | "StringSplit" | "RegexFullMatch" | "SequenceLength" => None,
        _ if node.domain.as_deref().is_none_or(|domain| domain.is_empty() || domain == "ai.onnx") => input(0),
        _ => None,
    }
}
