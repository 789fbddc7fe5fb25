//! What the integers of a network's inputs may be: places in tables of so many rows.

use std::collections::HashMap;

use millstream_graph::{DataType, OperatorId, ValueId};
use millstream_onnx::Model;

/// Operators that hand integers on as they are, by the place of the input that they do it with.
fn hands_on(op_type: &str, place: usize) -> bool {
    let from_first = matches!(
        op_type,
        "Cast"
            | "Identity"
            | "Reshape"
            | "Squeeze"
            | "Unsqueeze"
            | "Flatten"
            | "Transpose"
            | "Slice"
            | "Expand"
            | "Tile"
            | "Gather"
    );
    from_first && place == 0 || op_type == "Concat"
}

/// For each input of the network that is used to look things up, the number of things that every table it is used on
/// has.
pub(crate) fn index_limits(model: &Model) -> HashMap<ValueId, u64> {
    let graph = model.graph();
    let mut limits = HashMap::new();
    for &input in graph.inputs() {
        let mut open = vec![input];
        let mut seen = vec![false; graph.values().len()];
        while let Some(value) = open.pop() {
            if std::mem::replace(&mut seen[value.index()], true) {
                continue;
            }
            for &reader in graph.readers(value) {
                let operator = graph.operator(reader);
                let places = places(model, reader, value);
                if let Some(rows) = places.iter().filter_map(|&place| rows(model, reader, place)).min() {
                    let limit = limits.entry(input).or_insert(rows);
                    *limit = rows.min(*limit);
                }
                if places.iter().any(|&place| hands_on(&operator.op_type, place)) {
                    open.extend(&operator.outputs);
                }
            }
        }
    }
    limits
}

/// At which of an operator's inputs a value stands.
fn places(model: &Model, operator: OperatorId, value: ValueId) -> Vec<usize> {
    let name = &model.graph().value(value).name;
    let inputs = model.node(operator).inputs().enumerate();
    inputs.filter(|(_, input)| *input == name).map(|(place, _)| place).collect()
}

/// How many different indices an operator takes at an input; `None` if that input is no index.
fn rows(model: &Model, operator: OperatorId, place: usize) -> Option<u64> {
    let node = model.node(operator);
    let shape = |place: usize| {
        let name = node.inputs().nth(place)?;
        let weight = model.weights().get(name).map(|weight| weight.shape.clone());
        let value = || model.graph().value_ids().find(|&id| model.graph().value(id).name == name);
        weight.or_else(|| model.graph().value(value()?).shape.clone())
    };
    let along_axis = |default: i64| {
        let shape = shape(0)?;
        let sizes = shape.dimensions();
        let axis = node.int("axis").unwrap_or(default);
        let axis = if axis < 0 { axis + sizes.len() as i64 } else { axis };
        sizes.get(usize::try_from(axis).ok()?).map(|&size| size as u64)
    };

    match (model.graph().operator(operator).op_type.as_str(), place) {
        ("Gather" | "GatherElements" | "ScatterElements" | "Scatter", 1) => along_axis(0),
        ("GatherND" | "ScatterND", 1) => shape(0)?.dimensions().iter().map(|&size| size as u64).min(),
        ("OneHot", 0) => {
            let depth = model.weights().get(node.inputs().nth(1)?)?;
            let whole =
                |bytes: &[u8]| u64::from_le_bytes(std::array::from_fn(|place| bytes.get(place).copied().unwrap_or(0)));
            match depth.data_type {
                DataType::F32 => depth.floats()?.first().map(|&depth| depth as u64),
                DataType::I64 | DataType::I32 | DataType::U8 => Some(whole(&depth.data)),
                _ => None,
            }
        }
        _ => None,
    }
}
