//! Operators that OpenVINO does not run, or not as ONNX says.

use std::collections::HashMap;
use std::sync::Mutex;

use millstream_graph::{DataType, Graph, OperatorId, ValueId};
use millstream_onnx::{Model, WeightStorage};

use crate::error::said;
use crate::library::OpenVino;
use crate::lock::lock;
use crate::native::{self, Port};

/// Operators on floats that OpenVINO runs whatever their attributes are, with large weights: it is not asked for them.
const ALWAYS: [&str; 2] = ["Conv", "Gemm"];

/// Operators that compute with integers, rather than find places by them, where what is beyond 32 bits stands for the
/// end.
const COMPUTING: [&str; 27] = [
    "Abs",
    "Add",
    "BitwiseAnd",
    "BitwiseOr",
    "BitwiseXor",
    "Cast",
    "CastLike",
    "Clip",
    "CumSum",
    "Div",
    "Equal",
    "Greater",
    "GreaterOrEqual",
    "Less",
    "LessOrEqual",
    "Max",
    "Min",
    "Mod",
    "Mul",
    "Neg",
    "Pow",
    "ReduceMax",
    "ReduceMin",
    "ReduceSum",
    "Sub",
    "Sum",
    "Where",
];

/// What is known of the operators of a model: why they are refused, if they are.
#[derive(Default)]
pub(crate) struct Refusals(Mutex<HashMap<OperatorId, Option<String>>>);

impl Refusals {
    /// Why an operator is refused; `None` if it is not. OpenVINO says so when it is asked for the first time.
    pub(crate) fn of(&self, library: &OpenVino, model: &Model, id: OperatorId) -> Option<String> {
        let mut known = lock(&self.0);
        let refusal = known.entry(id).or_insert_with(|| otherwise(model, id).or_else(|| asked(library, model, id)));
        refusal.clone()
    }
}

/// What it would read but compute otherwise, or can't be given.
fn otherwise(model: &Model, id: OperatorId) -> Option<String> {
    let graph = model.graph();
    let operator = graph.operator(id);
    let node = model.node(id);
    let values = || operator.inputs.iter().chain(&operator.outputs).map(|&value| graph.value(value));
    let has = |data_type| values().any(|value| value.data_type == Some(data_type));
    let is_set = |attribute: &str| node.int(attribute).unwrap_or(0) != 0;
    let is_there = |place: usize| node.inputs().nth(place).is_some_and(|name| !name.is_empty());

    // Segments with such graphs say nothing of the shapes that they take in, which OpenVINO has to know: ONNX Runtime would
    // check branches against them that are never taken.
    if ["If", "Loop", "Scan"].contains(&operator.op_type.as_str()) {
        return Some(format!("OpenVINO is not asked to run graphs within operators ({})", operator.op_type));
    }
    let unknown = operator.inputs.iter().map(|&value| graph.value(value)).find(|value| value.shape.is_none());
    if let Some(value) = unknown {
        return Some(format!(
            "OpenVINO has to know how many dimensions '{}' has: fix the sizes of the inputs, or add shapes to the file, as \
             onnx.shape_inference does",
            value.name
        ));
    }

    let reason = match operator.op_type.as_str() {
        _ if has(DataType::String) => "takes no tensors of strings",
        _ if has(DataType::F64) => "computes numbers of 64 bits with 32",
        computing if COMPUTING.contains(&computing) && has_large_integers(model, id) => {
            "computes integers of 64 bits with 32"
        }
        "Attention" if is_set("is_causal") && is_there(4) => "counts past keys otherwise in a causal mask",
        "AveragePool" if is_set("count_include_pad") && covers_beyond_padding(model, id) => {
            "counts what windows cover beyond the padding"
        }
        "DFT" => "transforms along other dimensions",
        "LSTM" if is_there(7) => "leaves peepholes out",
        "Resize" if is_set("antialias") || is_set("exclude_outside") => "resizes otherwise at the edges",
        "Resize" if node.text("keep_aspect_ratio_policy").is_some_and(|policy| policy != "stretch") => {
            "does not keep proportions when it resizes"
        }
        "Tile" if operator.inputs.len() > 1 => "repeats a constant number of times only",
        _ => return None,
    };
    Some(format!("OpenVINO {reason} ({})", operator.op_type))
}

/// Whether an operator is given constants that have no place in 32 bits.
fn has_large_integers(model: &Model, id: OperatorId) -> bool {
    let mut constants = model.node(id).inputs().filter_map(|name| model.weights().get(name));
    let fits = |bytes: &[u8; 8]| i32::try_from(i64::from_le_bytes(*bytes)).is_ok();
    constants.any(|weight| weight.data_type == DataType::I64 && !weight.data.as_chunks().0.iter().all(fits))
}

/// Whether windows of a pool with padding go on beyond it, as they may where sizes are rounded up. Without padding,
/// OpenVINO counts what ONNX counts.
fn covers_beyond_padding(model: &Model, id: OperatorId) -> bool {
    let (graph, node) = (model.graph(), model.node(id));
    let list = |name: &str| node.ints(name).unwrap_or_default();
    let (kernel, strides, dilations, pads) = (list("kernel_shape"), list("strides"), list("dilations"), list("pads"));
    let shape = graph.operator(id).inputs.first().and_then(|&input| graph.value(input).shape.as_ref());
    let sizes = shape.map_or(&[][..], |shape| shape.dimensions().get(2..).unwrap_or_default());

    let goes_beyond = |(place, &size): (usize, &usize)| {
        let at = |list: &[i64], place: usize, otherwise: i64| list.get(place).copied().unwrap_or(otherwise);
        let (begin, end) = (at(pads, place, 0), at(pads, place + sizes.len(), 0));
        let window = at(kernel, place, 1).saturating_sub(1).saturating_mul(at(dilations, place, 1)).saturating_add(1);
        let stride = at(strides, place, 1).max(1);
        let within = i64::try_from(size).unwrap_or(i64::MAX).saturating_add(begin);
        let padded = within.saturating_add(end);
        // The last window begins within the values or the padding before them.
        let last = (padded.saturating_sub(window).saturating_add(stride - 1) / stride).saturating_mul(stride);
        let last = if last >= within { last.saturating_sub(stride) } else { last };
        last.saturating_add(window) > padded
    };
    let is_rounded_up = node.int("ceil_mode").unwrap_or(0) != 0;
    is_rounded_up && pads.iter().any(|&pad| pad > 0) && sizes.iter().enumerate().any(goes_beyond)
}

/// What OpenVINO says of a model of that operator alone.
fn asked(library: &OpenVino, model: &Model, id: OperatorId) -> Option<String> {
    if ALWAYS.contains(&model.graph().operator(id).op_type.as_str()) {
        return None;
    }
    // What can't be a segment of its own may well be part of one.
    let alone = model.segment(&[id], WeightStorage::Inline).ok()?;
    match native::read(library, &alone.bytes) {
        Err(error) => Some(said(&error)),
        Ok(ports) => {
            alone.outputs.iter().zip(&ports).find_map(|(&value, port)| other_shape(model.graph(), value, port))
        }
    }
}

/// Whether OpenVINO gives a result another shape than ONNX says.
fn other_shape(graph: &Graph, value: ValueId, port: &Port) -> Option<String> {
    let value = graph.value(value);
    let (shape, made) = (value.shape.as_ref()?, port.dimensions.as_ref()?);
    let is_same = shape.dimensions().iter().map(|&size| size as i64).eq(made.iter().copied());
    (!is_same).then(|| format!("OpenVINO gives '{}' the shape {made:?}, not {shape}", value.name))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use millstream_onnx::{Attributes, ModelBuilder, Weight};

    use super::*;

    /// Why the last operator of a model is refused before the library is asked.
    fn refusal(build: impl FnOnce(&mut ModelBuilder) -> String) -> Option<String> {
        let mut builder = ModelBuilder::new("one");
        let made = build(&mut builder);
        builder.output(&made);
        let model = builder.build().unwrap();
        otherwise(&model, *model.graph().order().last().unwrap())
    }

    #[test]
    fn arithmetic_with_constants_beyond_32_bits_is_refused() {
        let with = |op_type: &str, constant: &[i64]| {
            refusal(|builder| {
                let constant = builder.weight("constant", &Weight::from_i64([constant.len()], constant));
                let [floats, whole] = [builder.input("x", [4]), builder.input("y", [1])];
                match op_type {
                    "Slice" => {
                        let begin = builder.weight("begin", &Weight::from_i64([1], &[1]));
                        builder.node("Slice", &[&floats, &begin, &constant])
                    }
                    _ => {
                        let integers = builder.node_with("Cast", &[&whole], Attributes::new().int("to", 7));
                        builder.node(op_type, &[&integers, &constant])
                    }
                }
            })
        };
        for op_type in ["Mul", "Add", "Equal", "Mod"] {
            let reason = with(op_type, &[(1 << 33) + 1]).unwrap();
            assert_eq!(reason, format!("OpenVINO computes integers of 64 bits with 32 ({op_type})"));
            assert!(with(op_type, &[1 << 31]).is_some() && with(op_type, &[(1 << 31) - 1]).is_none());
            let long: Vec<i64> = (0..1000).map(|place| if place == 999 { -(1 << 31) - 1 } else { place }).collect();
            assert!(with(op_type, &long).is_some() && with(op_type, &long[..999]).is_none());
        }
        assert_eq!(with("Slice", &[i64::MAX]), None, "it stands for the end");
    }

    /// Whatever is known of what they read.
    #[test]
    fn graphs_within_operators_are_refused() {
        for op_type in ["If", "Loop", "Scan"] {
            let reason = refusal(|builder| {
                let condition = builder.input("condition", [1]);
                let unknown = builder.node("If", &[&condition]);
                builder.node(op_type, &[&unknown])
            });
            let expected = format!("OpenVINO is not asked to run graphs within operators ({op_type})");
            assert_eq!(reason.as_deref(), Some(expected.as_str()));
        }
    }

    #[test]
    fn averages_over_the_edge_of_the_padding_are_refused() {
        let with = |size: usize, stride: i64, pad: i64, (ceil_mode, count_include_pad): (i64, i64)| {
            refusal(|builder| {
                let input = builder.input("x", [1, 4, size, size]);
                let attributes = Attributes::new().ints("kernel_shape", &[3, 3]).ints("strides", &[stride; 2]);
                let attributes = attributes.ints("pads", &[pad; 4]).int("ceil_mode", ceil_mode);
                let attributes = attributes.int("count_include_pad", count_include_pad);
                builder.node_with("AveragePool", &[&input], attributes)
            })
        };
        // The last of five windows begins at 8 of 10, and is of three.
        assert!(with(8, 2, 1, (1, 1)).unwrap().contains("counts what windows cover beyond the padding"));
        assert_eq!((with(8, 2, 1, (1, 0)), with(8, 2, 1, (0, 1))), (None, None));
        assert_eq!(with(9, 2, 1, (1, 1)), None, "windows end with the padding");
        assert_eq!(with(8, 2, 0, (1, 1)), None, "nothing is padded");
        // A fourth would begin in the padding after the values, so there is none: as in a model of the ONNX suite.
        assert_eq!(with(8, 3, 1, (1, 1)), None);
    }
}
