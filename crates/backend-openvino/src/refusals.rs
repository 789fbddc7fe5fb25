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
        "Attention" if is_set("is_causal") && is_there(4) => "counts past keys otherwise in a causal mask",
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
