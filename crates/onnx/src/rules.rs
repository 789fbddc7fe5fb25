//! Which rule says what shape each operator makes: a table from ONNX operators to `rten-shape-inference`, with own
//! rules where it knows fewer dimensions than ONNX.

use millstream_graph::DataType;
use rten_shape_inference::{
    BinaryOp, InferShapes, InferShapesContext, ReductionOp, SymExpr, SymTensor, SymbolGen, UnaryOp, VariadicOp, ops,
};

use crate::external::ExternalFiles;
use crate::knowledge::Knowledge;
use crate::proto::{NodeProto, TensorProto};
use crate::{recurrent, windows};

/// Nothing that operators take dimension by dimension, or output by output, has more of them.
const MOST_DIMENSIONS: i32 = 1024;
/// The most elements that are followed through arithmetic: as many as the library makes of a `Range`.
const MOST_ELEMENTS: i32 = 1024;

/// What the node's outputs are; `None` where there is no rule or it does not apply.
pub(crate) fn outputs(node: &NodeProto, known: &[Option<&Knowledge>], opset: i64) -> Option<Vec<SymTensor>> {
    let shape = |index: usize| known.get(index).copied().flatten().and_then(Knowledge::shape);
    let fixed = |shape: Option<Vec<usize>>| shape.map(|shape| vec![SymTensor::from_fixed_shape(&shape)]);
    let filtered = |data: usize, filters: usize, rule: WindowRule| {
        fixed(rule(node, shape(data)?.dimensions(), shape(filters)?.dimensions()))
    };

    match node.op() {
        "Conv" | "ConvInteger" => filtered(0, 1, windows::convolution),
        "QLinearConv" => filtered(0, 3, windows::convolution),
        "ConvTranspose" => filtered(0, 1, windows::transposed_convolution),
        "LSTM" | "GRU" | "RNN" => {
            let made = recurrent::states(node, shape(0)?.dimensions(), shape(2)?.dimensions())?;
            Some(made.iter().map(|shape| SymTensor::from_fixed_shape(shape)).collect())
        }
        "DFT" => fixed(recurrent::spectrum(node, shape(0)?.dimensions(), opset)),
        "MaxPool" | "AveragePool" | "LpPool" => {
            let pooled = fixed(windows::pooling(node, shape(0)?.dimensions()))?;
            // MaxPool also gives places, in the same shape.
            Some([pooled.clone(), pooled].concat())
        }
        _ => {
            let operands = operands(node, known, opset)?;
            if misleads(node, &operands) {
                return None;
            }
            let is_integer = |known: &&Knowledge| matches!(known.data_type, Some(DataType::I64 | DataType::I32));
            let are_integers = known.iter().flatten().all(is_integer);
            by_library(node, &operands, are_integers)
        }
    }
}

type WindowRule = fn(&NodeProto, &[usize], &[usize]) -> Option<Vec<usize>>;

/// The inputs as the newest operator set has them: what is now an input was an attribute before, or stood elsewhere.
fn operands(node: &NodeProto, known: &[Option<&Knowledge>], opset: i64) -> Option<Vec<Option<SymTensor>>> {
    let named = |index: usize| node.input.get(index).is_some_and(|name| !name.is_empty());
    let tensor = |(index, known): (usize, &Option<&Knowledge>)| match known {
        Some(known) => Some(known.tensor.clone()),
        None => named(index).then(|| SymTensor::unknown("no model for its producer")),
    };
    let mut inputs: Vec<Option<SymTensor>> = known.iter().enumerate().map(tensor).collect();
    let even_sizes = inputs.first().and_then(|data| even_split(node, data.as_ref()?));

    let mut set_if_missing = |position: usize, tensor: Option<SymTensor>| {
        if inputs.len() <= position {
            inputs.resize(position + 1, None);
        }
        if inputs[position].is_none() {
            inputs[position] = tensor;
        }
    };

    match node.op() {
        "Reshape" => set_if_missing(1, node.ints("shape").map(vector)),
        "Squeeze" | "Unsqueeze" => set_if_missing(1, node.ints("axes").map(vector)),
        "Pad" => set_if_missing(1, node.ints("pads").map(vector)),
        "Upsample" => set_if_missing(1, float_scales(node)),
        "Tile" => set_if_missing(1, node.ints("repeats").map(vector)),
        "TopK" => set_if_missing(1, node.int("k").map(|k| vector(&[k]))),
        "Slice" if opset < 10 => {
            set_if_missing(1, node.ints("starts").map(vector));
            set_if_missing(2, node.ints("ends").map(vector));
            set_if_missing(3, node.ints("axes").map(vector));
        }
        "Resize" if opset < 11 => {
            let scales = inputs.get(1).cloned().flatten();
            inputs.resize(3, None);
            inputs[2] = scales;
        }
        "Split" => set_if_missing(1, node.ints("split").map(vector).or(even_sizes)),
        // Only the matrices have a say in the shape.
        "QLinearMatMul" => inputs = [0, 3].map(|index| inputs.get(index).cloned().flatten()).to_vec(),
        _ => {}
    }
    Some(inputs)
}

/// The tensor without its elements if these are too many to be followed: joining a vector to itself again and again
/// makes any number.
pub(crate) fn limited(tensor: SymTensor) -> SymTensor {
    match tensor.values().map(<[SymExpr]>::len) {
        Some(length) if length > MOST_ELEMENTS as usize => SymTensor::from_fixed_shape(&[length]),
        _ => tensor,
    }
}

/// Whether the rules would take an operand that is read for its elements for something else than it is.
///
/// Where it is only known to be long, they make a dimension, or an unknown element, of each element: nothing has so
/// many dimensions, and a few bytes of a file can claim billions. And sizes that 32 bits do not hold are not what
/// [`crate::infer`] makes of them.
fn misleads(node: &NodeProto, inputs: &[Option<SymTensor>]) -> bool {
    let rest = inputs.get(1..).unwrap_or_default();
    let (elements, are_sizes) = match node.op() {
        "ConstantOfShape" => (inputs, true),
        "Reshape" | "Expand" | "Tile" => (rest, true),
        "Squeeze" | "Unsqueeze" | "Pad" | "Slice" | "Resize" | "Upsample" | "Split" => (rest, false),
        _ => return false,
    };
    let is_long = |tensor: &SymTensor| match tensor.size(0) {
        Some(SymExpr::Value(size)) => size > MOST_DIMENSIONS,
        _ => false,
    };
    let is_cut = |tensor: &SymTensor| {
        let is_limit = |element: &SymExpr| matches!(element, SymExpr::Value(i32::MAX));
        are_sizes && tensor.values().is_some_and(|values| values.iter().any(is_limit))
    };
    elements.iter().flatten().any(|tensor| is_long(tensor) || is_cut(tensor))
}

/// The library's rules. Elements are followed through arithmetic only where `are_integers`: it counts in whole numbers.
fn by_library(node: &NodeProto, inputs: &[Option<SymTensor>], are_integers: bool) -> Option<Vec<SymTensor>> {
    let apply = |rule: &dyn InferShapes| rule.infer_shapes(InferShapesContext::new(inputs), &mut SymbolGen::new()).ok();
    let is_same_shape = SAME_SHAPE.split_whitespace().any(|op| op == node.op());
    let to_integer = matches!(node.int("to"), Some(6 | 7));
    if is_same_shape || node.op() == "Cast" && !(are_integers && to_integer) {
        return apply(&UnaryOp);
    }
    if !are_integers && matches!(node.op(), "Add" | "Sub" | "Mul" | "Div") {
        return apply(&BinaryOp);
    }
    layout(node, inputs, &apply).or_else(|| arithmetic(node, inputs, &apply)).or_else(|| products(node, &apply))
}

type Apply<'a> = &'a dyn Fn(&dyn InferShapes) -> Option<Vec<SymTensor>>;

fn int(node: &NodeProto, name: &str, default: i64) -> Option<i32> {
    i32::try_from(node.int(name).unwrap_or(default)).ok()
}

/// Operators that move, pick or repeat elements.
fn layout(node: &NodeProto, inputs: &[Option<SymTensor>], apply: Apply<'_>) -> Option<Vec<SymTensor>> {
    match node.op() {
        "Concat" => apply(&ops::Concat { axis: int(node, "axis", 0)? }),
        "Flatten" => apply(&ops::Flatten { axis: int(node, "axis", 1)? }),
        "Reshape" => apply(&ops::Reshape { allow_zero: int(node, "allowzero", 0)? != 0 }),
        "Squeeze" => apply(&ops::Squeeze),
        "Unsqueeze" => apply(&ops::Unsqueeze),
        "Transpose" => apply(&ops::Transpose { perm: node.sizes("perm").as_deref() }),
        "Expand" => apply(&ops::Expand),
        "Tile" => apply(&ops::Tile),
        "Shape" => {
            let bound = |name: &str| node.int(name).map(|bound| i32::try_from(bound).ok());
            let (start, end) = (bound("start"), bound("end"));
            apply(&ops::Shape { start: start.unwrap_or(None), end: end.unwrap_or(None) })
        }
        "Size" => apply(&ops::Size),

        "Gather" => apply(&ops::Gather { axis: int(node, "axis", 0)? }),
        "GatherElements" => apply(&ops::GatherElements),
        "GatherND" => apply(&ops::GatherND { batch_dims: usize::try_from(node.int("batch_dims").unwrap_or(0)).ok()? }),
        "Slice" => apply(&ops::Slice),
        "Split" => apply(&ops::Split { axis: int(node, "axis", 0)?, num_outputs: None }),
        "Pad" => apply(&ops::Pad),

        // The rule knows neither.
        "Resize"
            if node.attribute("axes").is_none()
                && node.text("keep_aspect_ratio_policy").is_none_or(|policy| policy == "stretch") =>
        {
            apply(&ops::Resize)
        }
        "Upsample" => apply(&ops::Upsample),
        "DepthToSpace" => apply(&ops::DepthToSpace { block_size: u32::try_from(node.int("blocksize")?).ok()? }),
        "ConstantOfShape" => {
            let length = inputs.first()?.as_ref()?.values().and_then(<[SymExpr]>::first);
            let is_short = !matches!(length, Some(SymExpr::Value(length)) if *length > MOST_ELEMENTS);
            apply(&ops::ConstantOfShape { value: constant_of_shape(node).filter(|_| is_short) })
        }
        "Range" => apply(&ops::Range),
        "OneHot" => apply(&ops::OneHot { axis: int(node, "axis", -1)? }),
        "TopK" => apply(&ops::TopK { axis: Some(int(node, "axis", -1)?) }),
        "Identity" | "Cast" => apply(&ops::Identity),
        "Dropout" => apply(&UnaryOp).map(|shapes| [shapes.clone(), shapes].concat()),
        _ => None,
    }
}

/// Operators that compute each element from those at its place, and reductions.
fn arithmetic(node: &NodeProto, inputs: &[Option<SymTensor>], apply: Apply<'_>) -> Option<Vec<SymTensor>> {
    let axes =
        |name: &str| -> Option<Vec<i32>> { node.ints(name)?.iter().map(|&axis| i32::try_from(axis).ok()).collect() };

    match node.op() {
        "Add" => apply(&ops::Add),
        "Sub" => apply(&ops::Sub),
        "Mul" => apply(&ops::Mul),
        "Div" => apply(&ops::Div),
        "Equal" => apply(&ops::Equal),
        "Where" => apply(&ops::Where),
        "Neg" => apply(&ops::Neg),
        "Pow" | "Greater" | "GreaterOrEqual" | "Less" | "LessOrEqual" | "And" | "Or" | "Xor" | "PRelu" | "Mod"
        | "BitShift" => apply(&BinaryOp),
        "Sum" | "Max" | "Min" | "Mean" => apply(&VariadicOp),
        "ReduceMean" | "ReduceSum" | "ReduceMax" | "ReduceMin" | "ReduceProd" | "ReduceL1" | "ReduceL2"
        | "ReduceLogSum" | "ReduceLogSumExp" | "ReduceSumSquare" => {
            let is_no_operation = int(node, "noop_with_empty_axes", 0)? != 0
                && node.ints("axes").is_none_or(<[i64]>::is_empty)
                && inputs.get(1).is_none_or(Option::is_none);
            if is_no_operation {
                return apply(&ops::Identity);
            }
            apply(&ReductionOp { axes: axes("axes").as_deref(), keep_dims: int(node, "keepdims", 1)? != 0 })
        }
        "ArgMax" | "ArgMin" => {
            apply(&ReductionOp { axes: Some(&[int(node, "axis", 0)?]), keep_dims: int(node, "keepdims", 1)? != 0 })
        }
        _ => None,
    }
}

/// Matrix products, global pooling and quantisation.
fn products(node: &NodeProto, apply: Apply<'_>) -> Option<Vec<SymTensor>> {
    match node.op() {
        "GlobalAveragePool" | "GlobalMaxPool" | "GlobalLpPool" => apply(&ops::GlobalPool),
        "Gemm" => {
            apply(&ops::Gemm { transpose_a: int(node, "transA", 0)? != 0, transpose_b: int(node, "transB", 0)? != 0 })
        }
        "MatMul" | "MatMulInteger" | "QLinearMatMul" => apply(&ops::MatMul),
        "DynamicQuantizeLinear" => apply(&ops::DynamicQuantizeLinear),
        _ => None,
    }
}

fn vector(values: &[i64]) -> SymTensor {
    let limit = i64::from(i32::MAX);
    SymTensor::from_vec(values.iter().map(|&value| SymExpr::Value(value.clamp(-limit, limit) as i32)).collect())
}

fn float_scales(node: &NodeProto) -> Option<SymTensor> {
    let floats = &node.attribute("scales")?.floats;
    let is_whole = floats.iter().all(|scale| scale.fract() == 0.0);
    is_whole.then(|| vector(&floats.iter().map(|&scale| scale as i64).collect::<Vec<_>>()))
}

fn constant_of_shape(node: &NodeProto) -> Option<i32> {
    let integer = |tensor: &TensorProto| {
        crate::weight::load("value", tensor, &mut ExternalFiles::none()).ok()?.integers()?.first().copied()
    };
    let value = node.attribute("value").and_then(|value| integer(value.t.as_ref()?))?;
    i32::try_from(value).ok()
}

/// Sizes when a node with this many outputs divides its axis evenly.
fn even_split(node: &NodeProto, data: &SymTensor) -> Option<SymTensor> {
    let parts = i64::try_from(node.output.len()).ok().filter(|&parts| parts > 0)?;
    let axis = node.int("axis").unwrap_or(0);
    let axis = if axis < 0 { axis.checked_add(data.ndim()? as i64)? } else { axis };
    let SymExpr::Value(size) = data.size(usize::try_from(axis).ok()?)? else { return None };
    let piece = (i64::from(size) + parts - 1) / parts;
    let sizes: Vec<i64> = (0..parts).map(|part| piece.min(i64::from(size) - part * piece).max(0)).collect();
    Some(vector(&sizes))
}

/// Operators whose outputs have the shape of the first input.
const SAME_SHAPE: &str = "Abs Acos Acosh Asin Asinh Atan Atanh BatchNormalization BitCast BitwiseNot CastLike Ceil Celu Clip Cos Cosh \
    CumProd CumSum DequantizeLinear Elu Erf Exp Floor Gelu GroupNormalization HardSigmoid HardSwish Hardmax \
    InstanceNormalization IsInf IsNaN LRN LayerNormalization LeakyRelu Log LogSoftmax LpNormalization \
    MeanVarianceNormalization Mish Not QuantizeLinear RMSNormalization Reciprocal Relu ReverseSequence Round Scatter \
    ScatterElements ScatterND Selu Shrink Sigmoid Sign Sin Sinh Softmax Softplus Softsign Sqrt Swish Tan Tanh \
    ThresholdedRelu Trilu";
