//! Shapes and shape arithmetic: a thin table from ONNX operators to the rules of `rten-shape-inference`.
//!
//! All inputs have fixed shapes by the time this runs, so every dimension that comes out is a number or unknown.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use millstream_graph::{DataType, Shape};
use rten_shape_inference::ops::{self, Padding};
use rten_shape_inference::{
    BinaryOp, Constant, InferShapes, InferShapesContext, ReductionOp, SymExpr, SymTensor, SymbolGen, UnaryOp,
    VariadicOp,
};

use crate::proto::{NodeProto, TensorProto};
use crate::types::output_type;
use crate::weight::Weight;

/// Integer tensors up to this many elements take part in shape arithmetic.
const LARGEST_SHAPE_VALUE: u64 = 64;

/// What is known about a value.
#[derive(Debug, Clone)]
pub(crate) struct Knowledge {
    pub(crate) data_type: Option<DataType>,
    pub(crate) tensor: SymTensor,
}

impl Knowledge {
    pub(crate) fn new(data_type: Option<DataType>, shape: Option<&Shape>) -> Self {
        let tensor = match shape {
            Some(shape) => SymTensor::from_fixed_shape(shape.dimensions()),
            None => SymTensor::unknown("not declared"),
        };
        Self { data_type, tensor }
    }

    pub(crate) fn of_weight(weight: &Weight) -> Self {
        let tensor = weight_values(weight).unwrap_or_else(|| SymTensor::from_fixed_shape(weight.shape.dimensions()));
        Self { data_type: Some(weight.data_type), tensor }
    }

    pub(crate) fn shape(&self) -> Option<Shape> {
        let fixed = |size: SymExpr| match size.simplify() {
            SymExpr::Value(size) => usize::try_from(size).ok(),
            _ => None,
        };
        Some(Shape::from(self.tensor.shape()?.map(fixed).collect::<Option<Vec<usize>>>()?))
    }

    /// The value itself, where shape arithmetic determines it.
    pub(crate) fn constant(&self) -> Option<Weight> {
        let constant = self.tensor.clone().simplify().to_constant()?;
        let values: Vec<i64> = constant.values().iter().map(|&value| i64::from(value)).collect();
        let shape = match constant {
            Constant::Scalar(_) => Shape::default(),
            Constant::Vector(_) => Shape::from([values.len()]),
        };
        match self.data_type? {
            DataType::I64 => Some(Weight::from_i64(shape, &values)),
            DataType::I32 => {
                let data = constant.values().iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>().into();
                Some(Weight { data_type: DataType::I32, shape, data })
            }
            _ => None,
        }
    }
}

fn weight_values(weight: &Weight) -> Option<SymTensor> {
    if weight.shape.dimensions().len() > 1 || weight.shape.elements() > LARGEST_SHAPE_VALUE {
        return None;
    }
    let whole = |value: f32| (value.fract() == 0.0 && value.abs() < 1e6).then_some(value as i64);
    let values = match weight.integers() {
        Some(values) => values,
        None => weight.floats()?.into_iter().map(whole).collect::<Option<_>>()?,
    };
    let limit = i64::from(i32::MAX);
    let mut expressions = values.iter().map(|&value| SymExpr::Value(value.clamp(-limit, limit) as i32));
    if weight.shape.dimensions().is_empty() {
        expressions.next().map(SymTensor::from_scalar)
    } else {
        Some(SymTensor::from_vec(expressions.collect()))
    }
}

/// What is known about the outputs of `node`, one entry per output.
pub(crate) fn infer(node: &NodeProto, known: &HashMap<String, Knowledge>, opset: i64) -> Vec<Knowledge> {
    let inputs: Vec<Option<Knowledge>> = node.input.iter().map(|name| known.get(name).cloned()).collect();
    let input_types: Vec<_> = inputs.iter().map(|input| input.as_ref().and_then(|known| known.data_type)).collect();
    let named = |index: usize| node.input.get(index).is_some_and(|name| !name.is_empty());
    let tensors: Vec<Option<SymTensor>> = inputs
        .into_iter()
        .enumerate()
        .map(|(index, known)| match known {
            Some(known) => Some(known.tensor),
            None => named(index).then(|| SymTensor::unknown("no model for its producer")),
        })
        .collect();
    // The rules index into what a damaged file may have left out; a panic there only means that the shape is unknown.
    let tensors = catch_unwind(AssertUnwindSafe(|| shapes(node, tensors, opset))).ok().flatten().unwrap_or_default();
    let mut tensors = tensors.into_iter();
    (0..node.output.len())
        .map(|index| Knowledge {
            data_type: output_type(node, &input_types, index),
            tensor: tensors.next().unwrap_or_else(|| SymTensor::unknown("no rule")).simplify(),
        })
        .collect()
}

fn vector(values: &[i64]) -> SymTensor {
    SymTensor::from_vec(values.iter().map(|&value| SymExpr::Value(value as i32)).collect())
}

fn float_scales(node: &NodeProto) -> Option<SymTensor> {
    let floats = &node.attribute("scales")?.floats;
    floats
        .iter()
        .all(|scale| scale.fract() == 0.0)
        .then(|| vector(&floats.iter().map(|&s| s as i64).collect::<Vec<_>>()))
}

/// Applies the rule for the node's type; `None` where there is no rule or it does not apply.
fn shapes(node: &NodeProto, mut inputs: Vec<Option<SymTensor>>, opset: i64) -> Option<Vec<SymTensor>> {
    let int = |name: &str, default: i64| node.int(name).unwrap_or(default) as i32;
    let spatial = inputs.first()?.as_ref()?.ndim().unwrap_or(2).saturating_sub(2);
    let strides = node.sizes("strides").unwrap_or_else(|| vec![1; spatial]);
    let dilations = node.sizes("dilations").unwrap_or_else(|| vec![1; spatial]);
    if strides.contains(&0) || dilations.contains(&0) {
        return None;
    }
    let pads = node.sizes("pads").unwrap_or_else(|| vec![0; 2 * spatial]);
    let padding = || match node.text("auto_pad") {
        Some("SAME_UPPER" | "SAME_LOWER") => Padding::Same,
        _ => Padding::Fixed(&pads),
    };
    let even_sizes = even_split(node, inputs.first()?.as_ref()?);
    // Before these operator sets, what is now an input was an attribute.
    let mut move_to_input = |position: usize, tensor: Option<SymTensor>| {
        if inputs.len() <= position {
            inputs.resize(position + 1, None);
        }
        if inputs[position].is_none() {
            inputs[position] = tensor;
        }
    };
    match node.op() {
        "Reshape" => move_to_input(1, node.ints("shape").map(vector)),
        "Squeeze" | "Unsqueeze" => move_to_input(1, node.ints("axes").map(vector)),
        "Pad" => move_to_input(1, node.ints("pads").map(vector)),
        "Upsample" => move_to_input(1, float_scales(node)),
        "Tile" => move_to_input(1, node.ints("repeats").map(vector)),
        "TopK" => move_to_input(1, node.int("k").map(|k| vector(&[k]))),
        "Slice" if opset < 10 => {
            move_to_input(1, node.ints("starts").map(vector));
            move_to_input(2, node.ints("ends").map(vector));
            move_to_input(3, node.ints("axes").map(vector));
        }
        "Resize" if opset < 11 => {
            let scales = inputs.get(1).cloned().flatten();
            inputs.resize(3, None);
            inputs[2] = scales;
        }
        "Split" => {
            move_to_input(1, node.ints("split").map(vector).or(even_sizes));
        }
        _ => {}
    }
    let axis_sizes = |name: &str| node.ints(name).map(|axes| axes.iter().map(|&axis| axis as i32).collect::<Vec<_>>());
    let apply =
        |rule: &dyn InferShapes| rule.infer_shapes(InferShapesContext::new(&inputs), &mut SymbolGen::new()).ok();
    match node.op() {
        "Conv" | "ConvInteger" => apply(&ops::Conv { dilations: &dilations, padding: padding(), strides: &strides }),
        "ConvTranspose" if node.attribute("output_shape").is_none() => apply(&ops::ConvTranspose {
            groups: usize::try_from(node.int("group").unwrap_or(1)).ok()?,
            padding: padding(),
            strides: &strides,
            dilations: &dilations,
            output_padding: node.sizes("output_padding").as_deref(),
        }),
        "MaxPool" | "AveragePool" | "LpPool" => apply(&ops::Pool {
            dilations: &dilations,
            kernel_size: &node.sizes("kernel_shape")?,
            padding: padding(),
            strides: &strides,
            ceil_mode: int("ceil_mode", 0) != 0,
        }),
        "GlobalAveragePool" | "GlobalMaxPool" | "GlobalLpPool" => apply(&ops::GlobalPool),
        "Gemm" => apply(&ops::Gemm { transpose_a: int("transA", 0) != 0, transpose_b: int("transB", 0) != 0 }),
        "MatMul" | "MatMulInteger" => apply(&ops::MatMul),
        "Concat" => apply(&ops::Concat { axis: int("axis", 0) }),
        "Flatten" => apply(&ops::Flatten { axis: int("axis", 1) }),
        "Reshape" => apply(&ops::Reshape { allow_zero: int("allowzero", 0) != 0 }),
        "Squeeze" => apply(&ops::Squeeze),
        "Unsqueeze" => apply(&ops::Unsqueeze),
        "Transpose" => apply(&ops::Transpose { perm: node.sizes("perm").as_deref() }),
        "Expand" => apply(&ops::Expand),
        "Tile" => apply(&ops::Tile),
        "Shape" => {
            let bound = |name: &str| node.int(name).map(|bound| bound as i32);
            apply(&ops::Shape { start: bound("start"), end: bound("end") })
        }
        "Size" => apply(&ops::Size),
        "Gather" => apply(&ops::Gather { axis: int("axis", 0) }),
        "GatherElements" => apply(&ops::GatherElements),
        "GatherND" => apply(&ops::GatherND { batch_dims: usize::try_from(node.int("batch_dims").unwrap_or(0)).ok()? }),
        "Slice" => apply(&ops::Slice),
        "Split" => apply(&ops::Split { axis: int("axis", 0), num_outputs: None }),
        "Pad" => apply(&ops::Pad),
        "Resize" => apply(&ops::Resize),
        "Upsample" => apply(&ops::Upsample),
        "DepthToSpace" => apply(&ops::DepthToSpace { block_size: u32::try_from(node.int("blocksize")?).ok()? }),
        "ConstantOfShape" => apply(&ops::ConstantOfShape { value: constant_of_shape(node) }),
        "Range" => apply(&ops::Range),
        "OneHot" => apply(&ops::OneHot { axis: int("axis", -1) }),
        "TopK" => apply(&ops::TopK { axis: Some(int("axis", -1)) }),
        "Identity" => apply(&ops::Identity),
        // Integer shape arithmetic passes through casts; fractions can't occur in it.
        "Cast" => apply(&ops::Identity),
        "Dropout" => apply(&UnaryOp).map(|shapes| [shapes.clone(), shapes].concat()),
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
            apply(&ReductionOp { axes: axis_sizes("axes").as_deref(), keep_dims: int("keepdims", 1) != 0 })
        }
        "ArgMax" | "ArgMin" => {
            apply(&ReductionOp { axes: Some(&[int("axis", 0)]), keep_dims: int("keepdims", 1) != 0 })
        }
        op if is_same_shape(op) => apply(&UnaryOp),
        _ => None,
    }
}

fn constant_of_shape(node: &NodeProto) -> Option<i32> {
    let integer = |tensor: &TensorProto| crate::weight::load("value", tensor, None).ok()?.integers()?.first().copied();
    node.attribute("value").and_then(|value| integer(value.t.as_ref()?)).map(|value| value as i32)
}

/// Sizes when a node with this many outputs divides its axis evenly.
fn even_split(node: &NodeProto, data: &SymTensor) -> Option<SymTensor> {
    let parts = i64::try_from(node.output.len()).ok()?;
    let axis = node.int("axis").unwrap_or(0);
    let axis = if axis < 0 { axis + data.ndim()? as i64 } else { axis };
    let SymExpr::Value(size) = data.size(usize::try_from(axis).ok()?)? else { return None };
    let piece = (i64::from(size) + parts - 1) / parts;
    let sizes: Vec<i64> = (0..parts).map(|part| piece.min(i64::from(size) - part * piece).max(0)).collect();
    Some(vector(&sizes))
}

fn is_same_shape(op: &str) -> bool {
    matches!(
        op,
        "Abs"
            | "Acos"
            | "Acosh"
            | "Asin"
            | "Asinh"
            | "Atan"
            | "Atanh"
            | "BatchNormalization"
            | "Ceil"
            | "Celu"
            | "Clip"
            | "Cos"
            | "Cosh"
            | "CumSum"
            | "DequantizeLinear"
            | "Elu"
            | "Erf"
            | "Exp"
            | "Floor"
            | "Gelu"
            | "GroupNormalization"
            | "HardSigmoid"
            | "HardSwish"
            | "Hardmax"
            | "InstanceNormalization"
            | "IsInf"
            | "IsNaN"
            | "LRN"
            | "LayerNormalization"
            | "LeakyRelu"
            | "Log"
            | "LogSoftmax"
            | "LpNormalization"
            | "MeanVarianceNormalization"
            | "Mish"
            | "Not"
            | "QuantizeLinear"
            | "RMSNormalization"
            | "Reciprocal"
            | "Relu"
            | "Round"
            | "ReverseSequence"
            | "Scatter"
            | "ScatterElements"
            | "ScatterND"
            | "Selu"
            | "Shrink"
            | "Sigmoid"
            | "Sign"
            | "Sin"
            | "Sinh"
            | "Softmax"
            | "Softplus"
            | "Softsign"
            | "Sqrt"
            | "Swish"
            | "Tan"
            | "Tanh"
            | "ThresholdedRelu"
            | "Trilu"
    )
}
