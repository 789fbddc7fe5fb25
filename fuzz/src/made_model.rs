//! Models of made-up operators, attributes, shapes and constants, in sound messages.

use std::sync::LazyLock;

use arbitrary::{Result, Unstructured};
use bytes::Bytes;
use millstream_onnx::operator_types;
use millstream_onnx::proto::{
    AttributeProto, DimensionProto, FunctionHeader, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto,
    TensorShapeProto, TensorTypeProto, TypeProto, ValueInfoProto, attribute_type,
};
use prost::Message;

/// All operators.
static OPERATORS: LazyLock<Vec<&str>> = LazyLock::new(|| operator_types().collect());
/// Operators that much code is about: half of all are of these.
const FAVOURITES: [&str; 32] = [
    "Conv",
    "Gemm",
    "MatMul",
    "Relu",
    "Add",
    "Mul",
    "MaxPool",
    "AveragePool",
    "Reshape",
    "Concat",
    "QuantizeLinear",
    "DequantizeLinear",
    "QLinearConv",
    "QLinearMatMul",
    "ConvInteger",
    "MatMulInteger",
    "LRN",
    "BatchNormalization",
    "Constant",
    "Shape",
    "Slice",
    "Gather",
    "Transpose",
    "Split",
    "Softmax",
    "Cast",
    "ConstantOfShape",
    "ConvTranspose",
    "Clip",
    "If",
    "Pad",
    "Upsample",
];
/// Names of attributes that some operator has.
const ATTRIBUTES: [&str; 50] = [
    "axis",
    "axes",
    "kernel_shape",
    "strides",
    "pads",
    "dilations",
    "group",
    "auto_pad",
    "ceil_mode",
    "transA",
    "transB",
    "alpha",
    "beta",
    "to",
    "perm",
    "shape",
    "value",
    "value_int",
    "value_ints",
    "value_float",
    "value_floats",
    "keepdims",
    "mode",
    "scales",
    "size",
    "blocksize",
    "split",
    "num_outputs",
    "starts",
    "ends",
    "direction",
    "hidden_size",
    "epsilon",
    "output_shape",
    "output_padding",
    "count_include_pad",
    "storage_order",
    "equation",
    "batch_dims",
    "allowzero",
    "noop_with_empty_axes",
    "k",
    "then_branch",
    "else_branch",
    "body",
    "num_scan_inputs",
    "block_size",
    "exclusive",
    "start",
    "end",
];
/// Texts that attributes have.
const TEXTS: [&str; 10] =
    ["SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET", "constant", "nearest", "bidirectional", "ij,jk->ik", "", "DCR"];
/// Sizes that dimensions, windows and steps have, the impossible among them.
const SIZES: [i64; 20] = [1, 2, 3, 4, 0, -1, 8, 5, 16, 7, 32, 64, 3, 2, 1, 224, -2, 65_537, i32::MAX as i64, i64::MAX];
/// Element types: 1 is f32, 7 is i64.
const TYPES: [i32; 12] = [1, 1, 1, 7, 2, 3, 6, 10, 11, 9, 8, 16];
/// How deep graphs are nested within graphs.
const DEEPEST: usize = 3;
/// The most elements of a constant.
const MOST_ELEMENTS: i64 = 256;

/// A model.
pub(crate) fn model(raw: &mut Unstructured<'_>) -> Result<ModelProto> {
    let version = match raw.int_in_range(0..=9)? {
        0 => raw.int_in_range(-1..=30)?,
        1 => 9,
        2..=5 => 13,
        _ => 17 + i64::from(raw.int_in_range(0..=9_u8)?),
    };
    let mut opset_import = vec![OperatorSetIdProto { domain: None, version: Some(version) }];
    if one_in(raw, 16)? {
        opset_import.push(OperatorSetIdProto { domain: Some("com.microsoft".to_owned()), version: Some(1) });
    }
    let mut functions = Vec::new();
    if one_in(raw, 16)? {
        let header = FunctionHeader { name: Some("Own".to_owned()), domain: None };
        functions.push(header.encode_to_vec().into());
    }
    let graph = Some(graph(raw, 0, &[])?);
    Ok(ModelProto { ir_version: Some(8), opset_import, functions, graph, ..ModelProto::default() })
}

fn one_in(raw: &mut Unstructured<'_>, count: u8) -> Result<bool> {
    Ok(raw.int_in_range(1..=count)? == count)
}

/// A graph whose operators may also read `outer` values.
fn graph(raw: &mut Unstructured<'_>, depth: usize, outer: &[String]) -> Result<GraphProto> {
    let mut graph = GraphProto { name: Some("made".to_owned()), ..GraphProto::default() };
    let mut names = outer.to_vec();
    for index in 0..raw.int_in_range(usize::from(depth == 0)..=3)? {
        let name = format!("x{depth}.{index}");
        graph.input.push(value_info(raw, &name)?);
        names.push(name);
    }
    for index in 0..raw.int_in_range(0..=4)? {
        let name = format!("w{depth}.{index}");
        graph.initializer.push(tensor(raw, &name)?);
        names.push(name);
    }

    for index in 0..raw.int_in_range(0..=10)? {
        let node = node(raw, depth, index, &names)?;
        names.extend(node.output.iter().cloned());
        graph.node.push(node);
    }

    let made = graph.node.last().and_then(|node| node.output.first()).cloned();
    graph.output.extend(made.map(|name| ValueInfoProto { name: Some(name), r#type: None }));
    while one_in(raw, 3)? && graph.output.len() < 4 {
        let name = raw.choose(&names)?.clone();
        graph.output.push(value_info(raw, &name)?);
    }
    while one_in(raw, 4)? && graph.value_info.len() < 4 {
        let name = raw.choose(&names)?.clone();
        graph.value_info.push(value_info(raw, &name)?);
    }

    // Files may list operators in any order.
    if graph.node.len() > 1 && one_in(raw, 8)? {
        graph.node.reverse();
    }
    Ok(graph)
}

fn node(raw: &mut Unstructured<'_>, depth: usize, index: usize, names: &[String]) -> Result<NodeProto> {
    let op_type = match raw.int_in_range(0..=40)? {
        0 => "Own",
        1..=20 => raw.choose(&OPERATORS)?,
        _ => raw.choose(&FAVOURITES)?,
    };
    let mut input = Vec::new();
    for _ in 0..raw.int_in_range(0..=4)? {
        // The last names are the likeliest: that makes chains.
        let name = match raw.int_in_range(0..=5)? {
            0 if !input.is_empty() => Some(String::new()),
            0..=2 => names.last().cloned(),
            _ if names.is_empty() => None,
            _ => Some(raw.choose(names)?.clone()),
        };
        input.extend(name);
    }
    let mut output = Vec::new();
    for place in 0..raw.int_in_range(0..=6_usize)?.saturating_sub(3).max(1) {
        let is_odd = !names.is_empty() && one_in(raw, 32)?;
        output.push(if is_odd { raw.choose(names)?.clone() } else { format!("v{depth}.{index}.{place}") });
    }
    let mut attribute = Vec::new();
    while attribute.len() < 6 && !one_in(raw, 3)? {
        attribute.push(self::attribute(raw, depth, names)?);
    }
    let domain = one_in(raw, 24)?.then(|| "com.microsoft".to_owned());
    let name = (!one_in(raw, 6)?).then(|| format!("{op_type}{depth}.{index}"));
    Ok(NodeProto { input, output, name, op_type: Some(op_type.to_owned()), attribute, domain, overload: None })
}

fn attribute(raw: &mut Unstructured<'_>, depth: usize, names: &[String]) -> Result<AttributeProto> {
    const TENSOR: i32 = 4;
    const GRAPH: i32 = 5;
    let name = Some((*raw.choose(&ATTRIBUTES)?).to_owned());
    let mut made = AttributeProto { name, ..AttributeProto::default() };

    let kind = match raw.int_in_range(0..=12)? {
        0..=3 => {
            made.i = Some(size(raw)?);
            attribute_type::INT
        }
        4..=7 => {
            for _ in 0..raw.int_in_range(0..=6)? {
                made.ints.push(size(raw)?);
            }
            attribute_type::INTS
        }
        8 => {
            made.f = Some(raw.arbitrary()?);
            attribute_type::FLOAT
        }
        9 => {
            for _ in 0..raw.int_in_range(0..=4)? {
                made.floats.push(raw.arbitrary()?);
            }
            attribute_type::FLOATS
        }
        10 => {
            made.s = Some(Bytes::from_static(raw.choose(&TEXTS)?.as_bytes()));
            attribute_type::STRING
        }
        11 => {
            made.t = Some(tensor(raw, "t")?);
            TENSOR
        }
        _ if depth < DEEPEST => {
            made.g = Some(graph(raw, depth + 1, names)?);
            GRAPH
        }
        _ => attribute_type::INT,
    };

    made.r#type = Some(kind);
    Ok(made)
}

fn size(raw: &mut Unstructured<'_>) -> Result<i64> {
    if one_in(raw, 16)? { raw.arbitrary() } else { Ok(*raw.choose(&SIZES)?) }
}

/// A declared value: its type, and a shape that may be open.
fn value_info(raw: &mut Unstructured<'_>, name: &str) -> Result<ValueInfoProto> {
    let mut dim = Vec::new();
    for _ in 0..raw.int_in_range(0..=5)? {
        let name = match raw.int_in_range(0..=15)? {
            0 => Some("n".to_owned()),
            1 => Some("height".to_owned()),
            _ => None,
        };
        let dim_value = if name.is_none() { Some(size(raw)?) } else { None };
        dim.push(DimensionProto { dim_value, dim_param: name });
    }
    let shape = (!one_in(raw, 12)?).then_some(TensorShapeProto { dim });
    let elem_type = Some(*raw.choose(&TYPES)?);
    let tensor_type = (!one_in(raw, 32)?).then_some(TensorTypeProto { elem_type, shape });
    Ok(ValueInfoProto { name: Some(name.to_owned()), r#type: Some(TypeProto { tensor_type, ..TypeProto::default() }) })
}

/// A constant whose data fit its shape, most of the time.
fn tensor(raw: &mut Unstructured<'_>, name: &str) -> Result<TensorProto> {
    let mut dims = Vec::new();
    let mut elements: i64 = 1;
    for _ in 0..raw.int_in_range(0..=4)? {
        let size = size(raw)?;
        // One size in thirty-two is kept even if the constant can't have it.
        let size = if elements.saturating_mul(size) > MOST_ELEMENTS && !one_in(raw, 32)? { 1 } else { size };
        elements = elements.saturating_mul(size);
        dims.push(size);
    }

    let data_type = *raw.choose(&TYPES)?;
    let bytes = match data_type {
        2 | 3 | 9 => 1,
        10 | 16 => 2,
        7 | 11 => 8,
        _ => 4,
    };
    let count = usize::try_from(elements.clamp(0, MOST_ELEMENTS)).unwrap_or_default();
    let mut made =
        TensorProto { dims, data_type: Some(data_type), name: Some(name.to_owned()), ..TensorProto::default() };

    match raw.int_in_range(0..=9)? {
        0 => {
            for _ in 0..count.min(8) {
                made.int32_data.push(raw.arbitrary()?);
            }
        }
        1 | 2 if data_type == 7 => {
            for _ in 0..count.min(8) {
                made.int64_data.push(size(raw)?);
            }
        }
        3 => made.float_data = vec![raw.arbitrary()?; count],
        _ => {
            let pattern: [u8; 4] = raw.arbitrary()?;
            // Small numbers, which shapes are made of, are as likely as any.
            let pattern = if one_in(raw, 2)? { [pattern[0] % 8, 0, 0, 0] } else { pattern };
            let data = (0..count * bytes).map(|place| if place % bytes < 4 { pattern[place % bytes] } else { 0 });
            made.raw_data = Some(data.collect());
        }
    }
    Ok(made)
}
